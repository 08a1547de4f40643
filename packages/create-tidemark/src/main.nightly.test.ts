import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { projectName } from './project-name.ts'
import { readRequest } from './read-request.ts'
import { RefusedError } from './refused-error.ts'
import { TEMPLATE_NAMES } from './templates.ts'
import { writeProject } from './write-project.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'create-tidemark-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Without a terminal. */
async function create(...args: readonly string[]) {
  const ended = run(process.execPath, [MAIN, ...args], { cwd: folder })
  return ended.then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  )
}

test('no template has a syntax that Node 22 cannot parse', async () => {
  for (const template of TEMPLATE_NAMES) {
    await create(template, '--template', template)
    for (const file of await readdir(join(folder, template, 'src'))) {
      const text = await readFile(join(folder, template, 'src', file), 'utf8')
      expect(text, `${template}/${file}`).not.toMatch(/\busing \w+ =/)
    }
  }
})

test('--yes asks nothing and says what to do next', async () => {
  const { code, stdout } = await create('--yes')
  expect(code).toBe(0)
  expect(stdout).toContain('cd my-worker && npm install')
  const manifest: unknown = JSON.parse(
    await readFile(join(folder, 'my-worker/package.json'), 'utf8'),
  )
  expect(manifest).toMatchObject({ name: 'my-worker', private: true, type: 'module' })
})

test('without a terminal and without --yes it writes nothing, and says what to give', async () => {
  const { code, stderr } = await create('shop')
  expect(code).toBe(2)
  expect(stderr).toBe(
    `create-tidemark: nobody to ask here: give a folder and --template ${TEMPLATE_NAMES.join('|')}, or --yes; npm create wants -- before options\n`,
  )
  expect(await readdir(folder)).toEqual([])
})

test('what fails otherwise is one line, too', async () => {
  await writeFile(join(folder, 'file'), '')
  const { code, stderr } = await create('file/inside', '--template', 'worker')
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/^create-tidemark: .*file.*\n$/)
})

test.each(TEMPLATE_NAMES)(
  '%s: no place holder is left, and hidden files are hidden',
  async (template) => {
    const project = { folder: join(folder, 'p'), name: 'p', template, version: '1.2.3' }
    await writeProject(project)
    const files = await readdir(project.folder, { recursive: true })
    expect(files).toEqual(expect.arrayContaining(['.gitignore', '.dockerignore', 'Dockerfile']))
    const readme = await readFile(join(project.folder, 'README.md'), 'utf8')
    expect(readme).toMatch(/^# p\n/)
    expect(readme).not.toContain('{{')
    expect(readme.trim().split('\n').length).toBeLessThanOrEqual(20)
    expect(await readFile(join(project.folder, 'package.json'), 'utf8')).toContain(
      '"tidemark": "^1.2.3"',
    )
  },
)

test('nothing is overwritten: a folder that is not empty, or a file, is refused as it is', async () => {
  const project = { folder, name: 'p', template: 'worker', version: '1.0.0' } as const
  await writeFile(join(folder, 'notes.txt'), 'mine')
  await expect(writeProject(project)).rejects.toThrow('is not empty (notes.txt)')
  await expect(writeProject({ ...project, folder: join(folder, 'notes.txt') })).rejects.toThrow(
    'is a file',
  )
  expect(await readdir(folder)).toEqual(['notes.txt'])
  expect(await readFile(join(folder, 'notes.txt'), 'utf8')).toBe('mine')
})

test.runIf(process.platform === 'linux')('a folder that cannot be made is an error', async () => {
  const project = { folder: '/proc/tidemark/p', name: 'p', template: 'worker' } as const
  await expect(writeProject({ ...project, version: '1.0.0' })).rejects.toThrow('/proc/tidemark')
})

test('a folder with nothing but a repository is as good as empty', async () => {
  await mkdir(join(folder, '.git'))
  await writeProject({ folder, name: 'p', template: 'worker', version: '1.0.0' })
  expect(await readdir(folder)).toContain('package.json')
})

test.each(['my-app', 'a', 'app2', 'shop.orders_v2', './deep/er/app', '/tmp/app/'])(
  'a project can be in %s',
  (path) => {
    expect(projectName(path)).toBe(path.split('/').findLast((part) => part !== ''))
  },
)

test.each([
  'My-App',
  'a b',
  'äpfel',
  '-x',
  '.hidden',
  'a--b',
  'a$(id)',
  "it's",
  'a\nb',
  '/',
  'node_modules',
  'tidemark',
  `a${'b'.repeat(214)}`,
])('no project can be in %j', (path) => {
  expect(() => projectName(path)).toThrow(RefusedError)
})

test('a folder is given once, with or without --dir', () => {
  expect(readRequest(['shop', '--template=queue'])).toMatchObject({
    folder: 'shop',
    template: 'queue',
  })
  expect(readRequest(['--dir', 'shop', '-y'])).toMatchObject({ folder: 'shop', yes: true })
  expect(() => readRequest(['shop', '--dir', 'shop'])).toThrow('give one folder')
  // What npm makes of `npm create tidemark shop --template queue`.
  expect(() => readRequest(['shop', 'queue'])).toThrow('npm create wants -- before options')
})

test('unknown options and templates are refused', () => {
  expect(() => readRequest(['--force'])).toThrow("Unknown option '--force'; see --help")
  expect(() => readRequest(['--template', 'wroker'])).toThrow(
    `there is no template "wroker": choose ${TEMPLATE_NAMES.join(', ')}`,
  )
})
