import { globSync } from 'node:fs'
import { mkdir, mkdtempDisposable, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { ensureNode, freePort } from '@tidemark/testing/servers'
import { readArguments, text } from './command-line/read-arguments.ts'
import { packAll } from './pack-all.ts'
import { compile } from './snippets/compile.ts'
import { followTutorial } from './tutorials/follow-tutorial.ts'
import { startPackedRegistry } from './tutorials/packed-registry.ts'
import { readTutorial } from './tutorials/read-tutorial.ts'
import { ROOT } from './repository.ts'

/*
 * Follows each tutorial as its reader would: makes its files in an empty folder, runs its commands in their order, and compares
 * what they print. `npm install` gets our packages as they are packed.
 */

/** The one that the gateway has in the pages. */
const PORT = '8081'

const { values, positionals } = readArguments(
  'usage: npm run tutorials -- [--node VERSION] [PAGE...]',
  { node: text() },
  { positionals: true },
)
const node =
  values.node === undefined
    ? process.execPath
    : await ensureNode({ version: values.node, onProgress: console.log })
await using work = await mkdtempDisposable(join(tmpdir(), 'tidemark-tutorials-'))
const packed = join(work.path, 'packed')
await mkdir(packed)
await using registry = await startPackedRegistry(await packAll(ROOT, packed))
const pages =
  positionals.length > 0 ? positionals : globSync('docs/tutorials/*.md', { cwd: ROOT }).toSorted()
const problems = (await Promise.all(pages.map(follow))).flat()
for (const problem of problems) console.error(problem)
console.log(`${pages.length} tutorials followed, ${problems.length} problems`)
if (problems.length > 0 || pages.length === 0) process.exitCode = 1

async function follow(page: string): Promise<readonly string[]> {
  const cwd = join(work.path, basename(page, '.md'))
  await mkdir(cwd)
  try {
    const markdown = await readFile(join(ROOT, page), 'utf8')
    const steps = readTutorial(markdown.replaceAll(PORT, String(await freePort())))
    return await typeErrors(page, await followTutorial(steps, { cwd, env: environment() }))
  } catch (error) {
    return [`${page}:${error instanceof Error ? error.message : String(error)}`]
  }
}

function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${dirname(node)}${delimiter}${process.env['PATH']}`,
    NODE_OPTIONS: '',
    npm_config_registry: registry.url,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  }
}

/** The programs of a page run without their types; that these are right as well is for editors, and for who goes on from here. */
async function typeErrors(page: string, folder: string): Promise<readonly string[]> {
  await mkdir(join(folder, 'node_modules/@types'), { recursive: true })
  await symlink(join(ROOT, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'))
  return (await compile(folder, '*.ts')).map((line) => `${page}: ${line}`)
}
