import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from 'tidemark'
import { bundlePackages } from '../../scripts/bundle-packages.ts'
import { startProgram } from '../newcomer/start-program.ts'

/* The application of docs/guide/nestjs.md, as its reader has it: decorators compiled by tsc, built packages, a process, SIGTERM. */

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-nest-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('a Nest application handles changes, drains on SIGTERM, and goes on where it stopped', async () => {
  await compileGuide()
  await write('o1', 12)
  const first = startProgram([join('dist', 'main.js')], { cwd: folder })
  await first.printed(/^mail for o1: 12$/)
  await write('o2', 30)
  await first.printed(/^mail for o2: 30$/)
  // Nest ends by the signal itself when its hooks are through.
  expect(await first.end()).toBe('SIGTERM')

  await write('o3', 5)
  const second = startProgram([join('dist', 'main.js')], { cwd: folder })
  await second.printed(/^mail for o3: 5$/)
  expect(await second.end()).toBe('SIGTERM')
  const mails = second.lines.filter((line) => line.startsWith('mail'))
  expect(mails).toEqual(['mail for o3: 5'])
})

async function compileGuide(): Promise<void> {
  await run(TSC, ['-b', 'packages/nestjs', 'packages/tidemark'], { cwd: ROOT })
  await bundlePackages()
  const guide = await readFile(join(ROOT, 'docs/guide/nestjs.md'), 'utf8')
  const [, code = ''] = /^```typescript\n(.*?)^```$/ms.exec(guide) ?? []
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await mkdir(join(folder, 'src'))
  await writeFile(join(folder, 'src', 'main.ts'), code)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const compilerOptions = {
    strict: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    module: 'nodenext',
    target: 'es2024',
    outDir: 'dist',
    rootDir: 'src',
    types: ['node'],
    skipLibCheck: true,
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  await run(TSC, ['-p', folder])
}

async function write(id: string, total: number): Promise<void> {
  await using store = await openStore(join(folder, 'data'))
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/customerId' })
  await orders.upsert({ id, customerId: 'c7', total } as { id: string })
}
