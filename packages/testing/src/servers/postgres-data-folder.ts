import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chown, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolderOf } from './cache-folder.ts'

const run = promisify(execFile)

/** PostgreSQL refuses to run as root: user and group `nobody` of Debian's. */
const NOBODY = 65_534

/** How the programs are run: as somebody else when this process is root's, and in plain English. */
export interface RunAs {
  readonly uid?: number
  readonly gid?: number
  readonly env: NodeJS.ProcessEnv
}

export function runAs(): RunAs {
  const env = Object.fromEntries(
    // PGHOST, PGDATA and the like of the caller's are about other servers.
    Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name)),
  )
  const plain = { env: { ...env, LC_ALL: 'C' } }
  return process.getuid?.() === 0 ? { ...plain, uid: NOBODY, gid: NOBODY } : plain
}

/** A new folder for one server, which belongs to whom the server runs as. */
export async function makeServerFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-postgres-'))
  await giveAway(folder)
  return folder
}

async function giveAway(folder: string): Promise<void> {
  const { uid, gid } = runAs()
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
}

/**
 * Makes `data` an empty cluster: superuser `postgres`, no password, encoding UTF8, locale C. The first call of a
 * version runs `initdb` (half a second) and keeps a copy that later ones copy (a tenth of that).
 */
export async function makeDataFolder(programs: string, data: string): Promise<void> {
  const template = await templateFolder(programs)
  if (await copied(template, data)) return
  await initdb(programs, data)
  await keepTemplate(data, template)
}

async function templateFolder(programs: string): Promise<string> {
  const { stdout } = await run(join(programs, 'postgres'), ['--version'])
  const owner = runAs().uid ?? process.getuid?.() ?? 0
  const key = createHash('sha256').update([stdout, programs, owner, ...INITDB].join('\n'))
  return join(cacheFolderOf({}), `postgres-data-${key.digest('hex').slice(0, 16)}`)
}

/** What `initdb` is told about text, wherever the server runs. */
export const NEW_CLUSTER: readonly string[] = ['--encoding=UTF8', '--locale=C']

const INITDB = [
  '--auth=trust',
  '--username=postgres',
  ...NEW_CLUSTER,
  '--no-sync',
  '--no-instructions',
]

async function initdb(programs: string, data: string): Promise<void> {
  await rm(data, { recursive: true, force: true })
  const cwd = join(data, '..')
  await run(join(programs, 'initdb'), [...INITDB, '--pgdata', data], { cwd, ...runAs() })
}

async function copied(from: string, to: string): Promise<boolean> {
  try {
    await stat(join(from, 'PG_VERSION'))
    await copyFolder(from, to)
    return true
  } catch {
    // There is none yet, or somebody is taking it away.
    return false
  }
}

async function keepTemplate(data: string, template: string): Promise<void> {
  const aside = `${template}-${process.pid}`
  try {
    await mkdir(join(template, '..'), { recursive: true })
    await copyFolder(data, aside)
    // Renamed when it is whole. When several were at it at once, the first one's stays.
    await rename(aside, template)
  } catch {
    // Nothing depends on it: whoever finds none runs `initdb`.
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

/** Keeps owners and modes; PostgreSQL refuses a folder that others can read. */
async function copyFolder(from: string, to: string): Promise<void> {
  await run('cp', ['-a', from, to])
}
