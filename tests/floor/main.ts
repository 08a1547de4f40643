import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ensureNode } from '@tidemark/testing/servers'
import { readArguments, text } from '../../scripts/command-line/read-arguments.ts'

// `npm run floor`: the built packages and the command on the oldest Node that they say they run on, or on another one.

const run = promisify(execFile)
const USAGE = `usage: npm run floor -- [--node VERSION | --program PATH]

  --node VERSION  fetched by npm    (default 22.18.0)
  --program PATH  a Node that is there`

const { values } = readArguments(USAGE, { node: text('22.18.0'), program: text() })
const root = fileURLToPath(new URL('../..', import.meta.url))
const node =
  values.program === undefined
    ? await ensureNode({ version: values.node, onProgress: console.log })
    : resolve(values.program)
const folder = await mkdtemp(join(tmpdir(), 'tidemark-floor-'))
try {
  const { stdout } = await onNode(['--disable-warning=ExperimentalWarning', program()])
  process.stdout.write(stdout)
  await tryCommand()
  const { stdout: version } = await onNode(['--version'])
  console.log(`node ${version.trim()}: the command does what it should, and prints no warnings`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Node takes its types off, which it warns of itself. */
function program(): string {
  return fileURLToPath(new URL('program.child.ts', import.meta.url))
}

async function tryCommand(): Promise<void> {
  const file = join(folder, 'in.jsonl')
  await writeFile(file, '{"id":"1","customer":"a"}\n{"id":"2","customer":"b"}\n')
  await tidemark('--version')
  const into = ['--store', 'data', '--collection', 'shop/orders', '--partition-key', '/customer']
  await tidemark('import', file, ...into)
  const target = ['--target', 'shop/by-id', '--target-partition-key', '/id']
  await tidemark('migrate', '--store', 'data', '--source', 'shop/orders', ...target, '--cut-over')
  await tidemark('store', 'check', 'data', '--deep')
}

/** Fails when the command does, and when Node warns of something. */
async function tidemark(...args: readonly string[]): Promise<void> {
  const main = join(root, 'packages', 'tidemark', 'dist', 'cli', 'main.js')
  const { stderr } = await onNode([main, ...args])
  if (/warning/i.test(stderr)) throw new Error(`tidemark ${args.join(' ')} printed: ${stderr}`)
}

function onNode(args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: join(folder, 'compiled') }
  return run(node, args, { cwd: folder, env, timeout: 300_000 })
}
