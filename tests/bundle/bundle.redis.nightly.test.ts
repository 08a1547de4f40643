import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedisServer } from '@tidemark/testing/servers'
import { build } from 'esbuild'
import { afterEach, beforeEach, expect, test } from 'vitest'

const run = promisify(execFile)
const OBSERVER = `export default class Observer { async processChanges() {} }`

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-bundle-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Bundles the program with the threads' entries that are named, as the guide says it. */
async function bundle(format: 'esm' | 'cjs', entries: Readonly<Record<string, string>>) {
  await build({
    entryPoints: {
      program: fileURLToPath(new URL('program.child.ts', import.meta.url)),
      ...entries,
    },
    outdir: folder,
    bundle: true,
    platform: 'node',
    format,
    conditions: ['@tidemark/source'],
    logLevel: 'error',
    // What CommonJS in a bundle of modules asks for.
    ...(format === 'esm' && {
      banner: {
        js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)`,
      },
    }),
  })
  const type = format === 'esm' ? 'module' : 'commonjs'
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type }))
  await writeFile(join(folder, 'observer.mjs'), OBSERVER)
}

function start(redisPort: number): Promise<{ stdout: string; stderr: string }> {
  const program = [join(folder, 'program.js'), join(folder, 'data')]
  const args = [...program, join(folder, 'observer.mjs'), String(redisPort)]
  return run(process.execPath, args, { cwd: folder, timeout: 60_000 })
}

test.each(['esm', 'cjs'] as const)(
  'a program bundled as %s finds its threads and scripts beside it',
  async (format) => {
    await using redis = await startRedisServer()
    await bundle(format, {
      'writer-thread': '@tidemark/engine-sqlite/writer-thread',
      'observer-thread-main': '@tidemark/processor/observer-thread-main',
    })
    const scripts = fileURLToPath(new URL('../../packages/lease-redis/lua', import.meta.url))
    await cp(scripts, join(folder, 'lua'), { recursive: true })
    expect((await start(redis.port)).stdout).toBe('1 change, 0 leases\n')
  },
)

test('one that lacks the thread says which entry it needs', async () => {
  await bundle('esm', {})
  await expect(start(1)).rejects.toMatchObject({
    stderr: expect.stringMatching(/make @tidemark\/engine-sqlite\/writer-thread an entry/),
  })
})
