import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packAll, type Tarball } from './pack-all.ts'
import { ROOT } from './repository.ts'

// `npm run install-cost`: what `npm install tidemark` brings, and what `import 'tidemark'` loads.

const run = promisify(execFile)

/** Measured at commit 88bf96e7, by what stands below. */
const BEFORE = { packages: 67, bytes: 29_800_000, modules: 814 }
/** Decision 0045. */
const LIMITS = { packages: 12, bytes: 6_000_000, modules: 60 }
/** Of others, what a store and a host are made of. */
const NEEDED = new Set(['eventemitter3', 'p-queue'])
const OWN = /^(?:tidemark$|@tidemark\/)/

/** Commands that need a package beside `tidemark`, and what they must say. */
const WITHOUT: readonly (readonly [args: string, install: string])[] = [
  ['serve data', '@tidemark/gateway@'],
  ['serve --memory --amqp-port 0', '@tidemark/messaging-amqp@'],
  ['dev', '@tidemark/gateway@'],
  ['leases ls --leases redis://127.0.0.1:1', 'ioredis'],
  ['store check postgres://nobody@127.0.0.1:1/none', 'pg'],
]

export interface InstallCost {
  readonly packages: readonly string[]
  readonly bytes: number
  /** Files that `import 'tidemark'` loads, by package. */
  readonly loaded: ReadonlyMap<string, number>
  /** What commands said without a package that they need, and which name should have been in it. */
  readonly refusals: readonly {
    readonly args: string
    readonly said: string
    readonly install: string
  }[]
}

/** Installs the packed `tidemark` for production into an empty folder, and looks at it. */
export async function installCost(
  folder: string,
  tarballs: readonly Tarball[],
): Promise<InstallCost> {
  await installed(folder, tarballs)
  const modules = join(folder, 'node_modules')
  const packages = packagesIn(modules)
  const bytes = readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  const refusals = WITHOUT.map(async ([args, install]) => ({
    args,
    install,
    said: await refusal(folder, args.split(' ')),
  }))
  return { packages, bytes, loaded: await loadedBy(folder), refusals: await Promise.all(refusals) }
}

/** What is above the limits, or loaded without need, or refused without a remedy; one line each. */
export function costProblems({
  packages,
  bytes,
  loaded,
  refusals,
}: InstallCost): readonly string[] {
  const problems: string[] = []
  if (packages.length > LIMITS.packages) {
    problems.push(
      `npm install tidemark brings ${packages.length} packages, ${LIMITS.packages} at most: ${packages.join(', ')}`,
    )
  }
  if (bytes > LIMITS.bytes) {
    problems.push(
      `npm install tidemark brings ${megabytes(bytes)}, ${megabytes(LIMITS.bytes)} at most`,
    )
  }
  const modules = sumOf(loaded.values())
  if (modules > LIMITS.modules) {
    problems.push(`import 'tidemark' loads ${modules} modules, ${LIMITS.modules} at most`)
  }
  for (const name of loaded.keys()) {
    if ((OWN.test(name) || NEEDED.has(name)) && name !== '@tidemark/engine-postgres') continue
    problems.push(`import 'tidemark' loads ${name}`)
  }
  for (const { args, said, install } of refusals) {
    if (said.includes('ERR_MISSING_PACKAGE') && said.includes(`npm install ${install}`)) continue
    problems.push(
      `tidemark ${args}, without ${install.replace(/@$/, '')}, says ${JSON.stringify(said)}`,
    )
  }
  return problems
}

async function installed(folder: string, tarballs: readonly Tarball[]): Promise<void> {
  const files = Object.fromEntries(tarballs.map(({ name, path }) => [name, `file:${path}`]))
  const { tidemark, ...overrides } = files
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies: { tidemark }, overrides }),
  )
  const flags = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  await run('npm', ['install', ...flags], { cwd: folder })
}

/** Every folder with a package.json, by its path under node_modules. */
function packagesIn(modules: string, prefix = ''): readonly string[] {
  if (!existsSync(modules)) return []
  return readdirSync(modules, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .flatMap(({ name }) => {
      const folder = join(modules, name)
      if (name.startsWith('@')) return packagesIn(folder, `${prefix}${name}/`)
      const own = existsSync(join(folder, 'package.json')) ? [`${prefix}${name}`] : []
      return [...own, ...packagesIn(join(folder, 'node_modules'), `${prefix}${name}/node_modules/`)]
    })
    .toSorted()
}

async function loadedBy(folder: string): Promise<ReadonlyMap<string, number>> {
  const program = `
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
    await import('tidemark')
    console.log(JSON.stringify(urls))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: folder,
  })
  const counts = new Map<string, number>()
  for (const url of JSON.parse(stdout) as readonly string[]) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? []
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

/** What the command wrote when it failed; empty when it did not fail within a minute. */
async function refusal(folder: string, args: readonly string[]): Promise<string> {
  const main = join(folder, 'node_modules/tidemark/dist/cli/main.js')
  try {
    await run(process.execPath, [main, ...args], { cwd: folder, timeout: 60_000 })
    return ''
  } catch (error) {
    return String(Reflect.get(Object(error), 'stderr')).trim()
  }
}

/** The median of ten fresh processes, less that of processes which import nothing. */
async function importMs(folder: string): Promise<number> {
  const median = async (program: string): Promise<number> => {
    const times: number[] = []
    for (let n = 0; n < 10; n++) {
      const begin = performance.now()
      await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder })
      times.push(performance.now() - begin)
    }
    return times.toSorted((a, b) => a - b)[5] ?? 0
  }
  const empty = await median('')
  return (await median("await import('tidemark')")) - empty
}

function sumOf(counts: Iterable<number>): number {
  return [...counts].reduce((sum, count) => sum + count, 0)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

if (import.meta.main) {
  await using work = await mkdtempDisposable(join(tmpdir(), 'tidemark-install-'))
  const folder = join(work.path, 'installed')
  const cost = await installCost(folder, await packAll(ROOT, work.path))
  const modules = sumOf(cost.loaded.values())
  const ms = await importMs(folder)
  console.log(
    [
      `npm install tidemark    before     now      limit`,
      `packages                ${pad(BEFORE.packages)}${pad(cost.packages.length)}${LIMITS.packages}`,
      `size                    ${pad(megabytes(BEFORE.bytes))}${pad(megabytes(cost.bytes))}${megabytes(LIMITS.bytes)}`,
      `modules of the import   ${pad(BEFORE.modules)}${pad(modules)}${LIMITS.modules}`,
      `time of the import      ${pad('')}${pad(`${ms.toFixed(0)} ms`)}`,
      `\n${cost.packages.join(', ')}`,
    ].join('\n'),
  )
  const problems = costProblems(cost)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}

function pad(value: string | number): string {
  return String(value).padEnd(9)
}
