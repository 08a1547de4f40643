import { readdir, readFile } from 'node:fs/promises'

const TICKS_PER_SECOND = 100

export interface ProcessUsage {
  /** Processor time since the start, in user and system mode. */
  readonly cpuMs: number
  /** Resident; memory that several processes of one server share counts once. */
  readonly residentMiB: number
}

/** Of processes and their children, which must run; Linux only. */
export async function usageOf(pids: readonly number[]): Promise<ProcessUsage> {
  const tree = await withChildren(pids)
  const each = await Promise.all(
    tree.map(async (pid) => ({
      cpuMs: await cpuMsOf(pid),
      residentMiB: await (tree.length === 1 ? residentOf(pid) : shareOf(pid)),
    })),
  )
  return {
    cpuMs: each.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    residentMiB: each.reduce((sum, { residentMiB }) => sum + residentMiB, 0),
  }
}

async function withChildren(pids: readonly number[]): Promise<readonly number[]> {
  const wanted = new Set(pids)
  if (wanted.size === 0) return []
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const parents = await Promise.all(
    names.map(async (name) => [Number(name), Number((await statOf(name))[1])] as const),
  )
  // Ids grow: parents come before their children, but for the wrap, which a bench does not see.
  for (const [pid, parent] of parents.toSorted(([a], [b]) => a - b)) {
    if (wanted.has(parent)) wanted.add(pid)
  }
  return [...wanted]
}

/** What follows the name, which may itself hold spaces: state, parent, … */
async function statOf(pid: number | string): Promise<readonly string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

async function cpuMsOf(pid: number): Promise<number> {
  const stat = await statOf(pid)
  return ((Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) * 1000) / TICKS_PER_SECOND
}

async function residentOf(pid: number): Promise<number> {
  return kibIn(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''), 'VmRSS') / 1024
}

async function shareOf(pid: number): Promise<number> {
  return kibIn(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => ''), 'Pss') / 1024
}

function kibIn(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0)
}
