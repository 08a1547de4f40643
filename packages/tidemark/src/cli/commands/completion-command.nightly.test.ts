import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openStore } from '../../open-store.ts'
import { tidemark } from './command-runner.child.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))

let folder: string
let data: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-completion-'))
  data = join(folder, 'data')
  await using store = await openStore({
    folder: data,
    durability: 'relaxed',
    maintenance: 'manual',
  })
  for (const id of ['orders', 'order-lines', 'users', '$(touch x)', '-x', 'a b', "it's"]) {
    await store.database('shop').createCollectionIfNotExists({ id, partitionKey: '/id' })
  }
  await store.createDatabaseIfNotExists('ship')
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})
afterEach(() => {
  vi.unstubAllEnvs()
})

async function words(...typed: readonly string[]): Promise<readonly string[]> {
  const { code, output, errors } = await tidemark('completion', 'words', '--', ...typed)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  return output.split('\n').slice(0, -1)
}

test('commands, subcommands and options', async () => {
  const commands = await words('')
  expect(commands).toContain('ls')
  expect(commands).toContain('completion')
  expect(commands.length).toBeGreaterThan(20)
  expect(await words('ver')).toEqual(['versions'])
  expect(await words('--v')).toEqual(['--version'])
  expect(await words('leases', 'se')).toEqual(['seek'])
  expect(await words('completion', '')).toEqual(['bash', 'zsh', 'fish', 'help'])
  expect(await words('queues', 'dlq', 're')).toEqual(['redrive'])
  expect(await words('get', 'a/b', 'o1', '--p')).toEqual(['--partition-key'])
  expect(await words('import', 'x.json', '--mode', '')).toEqual(['upsert', 'create'])
  expect(await words('import', 'x.json', '--mode=c')).toEqual(['--mode=create'])
  expect(await words('ttl', '--st')).toEqual(['--store'])
  for (const typed of [
    ['none', ''],
    ['none'],
    ['get', 'a/b', ''],
    ['import', ''],
    ['tail', '--store', ''],
  ]) {
    expect(await words(...typed)).toEqual([])
  }
})

test('names of databases and collections in the store that is named', async () => {
  expect(await words('ls', '--store', data, '')).toEqual(['ship', 'ship/', 'shop', 'shop/'])
  expect(await words('tail', `--store=${data}`, 'sho')).toEqual(['shop/'])
  expect(await words('queues', 'ls', '--store', data, 'sho')).toEqual(['shop'])
  vi.stubEnv('TIDEMARK_STORE', data)
  expect(await words('tail', 'shop/or')).toEqual(['shop/order-lines', 'shop/orders'])
  expect(await words('ttl', 'set', 'shop/u')).toEqual(['shop/users'])
  expect(await words('ttl', 'shop/u')).toEqual(['shop/users'])
  expect(await words('migrate', '--source', 'shop/u')).toEqual(['shop/users'])
  expect(await words('migrate', '--source=shop/u')).toEqual(['--source=shop/users'])
  // What a shell would interpret is not offered.
  expect(await words('tail', 'shop/')).toEqual(['shop/order-lines', 'shop/orders', 'shop/users'])
  expect(await words('tail', 'none/')).toEqual([])
  for (const store of [join(folder, 'none'), 'postgres://127.0.0.1:1/x', 'redis://x', '']) {
    expect(await words('tail', '--store', store, 'shop/')).toEqual([])
  }
})

/** What bash would put in the place of the last word. */
async function bash(line: string): Promise<readonly string[]> {
  const bin = join(folder, 'bin')
  await mkdir(bin, { recursive: true })
  const program = `#!/bin/sh\nexec '${process.execPath}' --conditions=@tidemark/source '${MAIN}' "$@"\n`
  await writeFile(join(bin, 'tidemark'), program)
  await chmod(join(bin, 'tidemark'), 0o755)
  const script = [
    'source <(tidemark completion bash)',
    'complete -p tidemark >&2',
    'COMP_LINE="$1"; COMP_POINT=${#1}',
    '_tidemark tidemark',
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n')
  const PATH = `${bin}:${process.env['PATH'] ?? ''}`
  const { stdout, stderr } = await run('bash', ['--norc', '-euc', script, 'bash', line], {
    env: { ...process.env, PATH, TIDEMARK_STORE: data },
    cwd: folder,
  })
  expect(stderr).toBe('complete -o default -F _tidemark tidemark\n')
  return stdout.split('\n').filter((word) => word !== '')
}

test.runIf(process.platform !== 'win32')('bash completes by the script', async () => {
  expect(await bash('tidemark vers')).toEqual(['versions'])
  expect(await bash('tidemark ls shop/order')).toEqual(['shop/order-lines', 'shop/orders'])
  // Bash replaces only what follows the =.
  expect(await bash('tidemark import x --mode=cr')).toEqual(['create'])
  expect(await bash('tidemark leases ')).toContain('seek')
})

test.each(['bash', 'zsh', 'fish'])(
  '%s reads its script without complaint, where it is installed',
  async (shell) => {
    const { code, output } = await tidemark('completion', shell)
    expect(code).toBe(0)
    const file = join(folder, `script.${shell}`)
    await writeFile(file, output)
    try {
      expect(await run(shell, ['-n', file])).toEqual({ stdout: '', stderr: '' })
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOENT' })
    }
  },
)

test('a shell that is not known is wrong use', async () => {
  const { code, errors } = await tidemark('completion', 'cmd')
  expect(code).toBe(2)
  expect(errors).toMatch(/^tidemark: ERR_USAGE: [^\n]+\n$/)
})
