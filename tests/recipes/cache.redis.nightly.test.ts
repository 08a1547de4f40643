import { execFile } from 'node:child_process'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedisProcess } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { readSnippets } from '../../scripts/snippets/read-snippets.ts'

/* Recipes that `npm run snippets` only compiles, because they need a server. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

test('the recipe of a cache prints what its page says', async () => {
  const page = await readFile(join(ROOT, 'docs/recipes/cache.md'), 'utf8')
  const [program] = readSnippets('cache.md', page)
  const output = /^```text\n(.*?)^```$/ms.exec(page)?.[1]
  await using redis = await startRedisProcess()
  // Inside the repository, so that it finds the packages.
  await mkdir(join(ROOT, '.cache'), { recursive: true })
  await using folder = await mkdtempDisposable(join(ROOT, '.cache/recipe-'))
  await writeFile(join(folder.path, 'cache.ts'), program?.code ?? '')
  const args = ['--conditions=@tidemark/source', 'cache.ts']
  const { stdout } = await run(process.execPath, args, {
    cwd: folder.path,
    env: { ...process.env, REDIS_URL: `redis://127.0.0.1:${redis.port}` },
  })
  expect(stdout).toBe(output)
})
