import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  /** `T` stopped, `Z` ended and not yet collected by its parent, … */
  readonly state: string
}

/**
 * Stops a process, then its children: a stopped parent makes no new ones, so that none is missed.
 * Resolves with the ids of the children.
 */
export async function stopProcessTree(pid: number): Promise<number[]> {
  signalIfAlive(pid, 'SIGSTOP')
  for (;;) {
    const rows = await listProcesses()
    const root = rows.find((row) => row.pid === pid)
    if (root === undefined || root.state.startsWith('Z')) return []
    if (root.state.toUpperCase().startsWith('T')) {
      const children = rows.filter(({ parent }) => parent === pid).map((row) => row.pid)
      for (const child of children) signalIfAlive(child, 'SIGSTOP')
      return children
    }
    await sleep(2)
  }
}

/** Sends a signal; a process that is gone already is none of the caller's business. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone.
  }
}

/** Which of the processes still run; one that ended and that nobody collects does not. */
export async function aliveProcesses(pids: readonly number[]): Promise<number[]> {
  const rows = await listProcesses()
  const alive = rows.filter(({ pid, state }) => pids.includes(pid) && !state.startsWith('Z'))
  return alive.map(({ pid }) => pid)
}

/** Resolves when none of the processes runs any more. */
export async function processesGone(pids: readonly number[]): Promise<void> {
  while ((await aliveProcesses(pids)).length > 0) await sleep(5)
}

function listProcesses(): Promise<ProcessRow[]> {
  return process.platform === 'linux' ? listFromProc() : listFromPs()
}

/** Small images have no `ps`. */
async function listFromProc(): Promise<ProcessRow[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const rows = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      // The name in parentheses may itself hold spaces and parentheses.
      const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return { pid: Number(pid), parent: Number(parent), state }
    }),
  )
  return rows.filter(({ state }) => state !== '')
}

async function listFromPs(): Promise<ProcessRow[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,stat='])
  const lines = stdout.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent), state }
  })
}
