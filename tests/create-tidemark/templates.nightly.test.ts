import { execFile } from 'node:child_process'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '@tidemark/testing/servers'
import { bundlePackages } from '../../scripts/bundle-packages.ts'
import { installPacked } from '../../scripts/install-packed.ts'
import { startProgram } from '../newcomer/start-program.ts'

/*
 * What `npm create tidemark` writes, as its reader has it: packages from their tarballs, tests and types by the project's own
 * scripts, and its program in a process that gets SIGTERM.
 */

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
// npm takes the `node` that runs this test.
const ENV = {
  ...process.env,
  NODE_OPTIONS: '',
  PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
}

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-create-'))
  await run(
    process.execPath,
    [TSC, '-b', 'packages/cosmos', 'packages/testing', 'packages/tidemark'],
    {
      cwd: ROOT,
    },
  )
  await bundlePackages()
  await installPacked(ROOT, { folder, companions: ['@types/node', 'typescript'] })
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('a worker sends receipts for orders, and goes on after SIGTERM where it stopped', async () => {
  const project = await create('worker')
  await project.passes()
  const first = project.start()
  await first.printed(/^ready$/)
  await project.put('{"id":"o1","customerId":"c7","total":12}')
  await first.printed(/^receipt o1:\d+ to c7: order o1, 12$/)
  expect(await first.end()).toBe(0)
  await project.put('{"id":"o2","customerId":"c7","total":30}')
  const second = project.start()
  await second.printed(/^receipt o2:/)
  expect(await second.end()).toBe(0)
  expect(second.lines.filter((line) => line.includes('o1'))).toEqual([])
})

test('a migration follows until SIGTERM, and compares both sides at its end', async () => {
  const project = await create('migration')
  await project.passes()
  const worker = project.start()
  await worker.printed(/^ready$/)
  await project.put('{"id":"o1","customerId":"c7","itemId":"pen","total":12}')
  await worker.printed(/^caughtUp: 0 left, lag 0/)
  expect(await worker.end()).toBe(0)
  await project.put('{"id":"o2","customerId":"c7","itemId":"book","total":30}')
  const last = project.start('--cut-over')
  await last.printed(/^0 missing, 0 different, 0 extra$/)
  expect(await last.ended).toBe(0)
  await project.put('{"id":"o2","customerId":"c8","itemId":"book","total":1}')
  const colliding = project.start('--cut-over')
  await colliding.printed(/^o2 waits: another has its key$/)
  await colliding.printed(/^1 wait: others have their keys$/)
  expect(await colliding.ended).toBe(3)
})

test('a worker of a queue handles orders, and ends on SIGTERM', async () => {
  const project = await create('queue')
  await project.passes()
  const worker = project.start()
  await worker.printed(/^ready$/)
  await project.tidemark(['queues', 'send', 'shop/orders', '{"id":"o1","total":12}'])
  await worker.printed(/^order o1: 12$/)
  expect(await worker.end()).toBe(0)
})

test('a view counts orders, and goes on after SIGTERM where it stopped', async () => {
  const project = await create('view')
  await project.passes()
  for (const [id, total] of [
    ['o1', 12],
    ['o2', 42],
  ] as const) {
    const worker = project.start()
    await worker.printed(/^ready$/)
    await project.put(JSON.stringify({ id, customerId: 'c7', total: id === 'o1' ? 12 : 30 }))
    await expect
      .poll(() => shown(project.cwd), { timeout: 60_000 })
      .toMatch(new RegExp(`"key":"c7".*"total":${total},`))
    expect(await worker.end()).toBe(0)
  }
})

test('a worker of Azure Cosmos DB follows a container by the official client, and ends on SIGTERM', async () => {
  const project = await create('azure')
  const { cwd } = project
  await project.passes()
  await project.tidemark(['init'])
  await project.tidemark(['create', 'shop/orders', '--partition-key', '/customerId'])
  await project.tidemark(['put', 'shop/orders', '{"id":"o1","customerId":"c7","total":12}'])
  const port = await freePort()
  const key = Buffer.alloc(64, 7).toString('base64')
  const main = join(folder, 'node_modules', 'tidemark', 'dist', 'cli', 'main.js')
  const gateway = startProgram([main, 'serve', 'data', '--port', `${port}`, '--json'], {
    cwd,
    env: { ...ENV, TIDEMARK_GATEWAY_KEY: key },
  })
  await gateway.printed(/"ready"/)
  const worker = startProgram([join('src', 'main.ts')], {
    cwd,
    env: { ...ENV, COSMOS_ENDPOINT: `http://127.0.0.1:${port}/`, COSMOS_KEY: key },
  })
  await worker.printed(/^receipt o1:\d+ to c7: order o1, 12$/)
  expect(await worker.end()).toBe(0)
  expect(await gateway.end()).toBe(0)
})

/** Nothing before the view has been made. */
async function shown(cwd: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join('src', 'show.ts')], { cwd, env: ENV })
  return stdout
}

async function create(template: string) {
  const name = `my-${template}`
  const main = join(folder, 'node_modules', 'create-tidemark', 'dist', 'main.js')
  await run(process.execPath, [main, name, '--template', template], { cwd: folder, env: ENV })
  const cwd = join(folder, name)
  return {
    /** Its own tests, under its own types; and it names every package that it imports. */
    async passes(): Promise<void> {
      const [{ stdout }] = await Promise.all([
        run('npm', ['test'], { cwd, env: ENV }),
        run(process.execPath, [TSC], { cwd, env: ENV }),
      ])
      expect(stdout).toMatch(/^ℹ pass [1-9]/m)
      const { name: named, dependencies, devDependencies } = await readManifest(cwd)
      expect(named).toBe(name)
      expect(await importedPackages(cwd, '*.test.ts')).toEqual(
        expect.toSatisfy((used: string[]) =>
          used.every((one) => one in { ...dependencies, ...devDependencies }),
        ),
      )
      expect(await importedPackages(cwd, '!(*.test).ts')).toEqual(
        expect.toSatisfy((used: string[]) => used.every((one) => one in dependencies)),
      )
    },
    put: (order: string) => tidemark(cwd, ['put', 'shop/orders', order]),
    tidemark: (args: readonly string[]) => tidemark(cwd, args),
    start: (...args: readonly string[]) =>
      startProgram([join('src', 'main.ts'), ...args], { cwd, env: ENV }),
    cwd,
  }
}

interface Manifest {
  readonly name: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

async function readManifest(cwd: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8')) as Manifest
}

async function importedPackages(cwd: string, files: string): Promise<readonly string[]> {
  const found = new Set<string>()
  for await (const file of glob(`src/${files}`, { cwd })) {
    const code = await readFile(join(cwd, file), 'utf8')
    for (const [, from = ''] of code.matchAll(/ from '([^.'][^']*)'/g)) {
      const [scope = '', name = ''] = from.split('/')
      if (!isBuiltin(from)) found.add(scope.startsWith('@') ? `${scope}/${name}` : scope)
    }
  }
  return [...found]
}

async function tidemark(cwd: string, args: readonly string[]): Promise<void> {
  const main = join(folder, 'node_modules', 'tidemark', 'dist', 'cli', 'main.js')
  await run(process.execPath, [main, ...args], { cwd, env: { ...ENV, TIDEMARK_STORE: './data' } })
}
