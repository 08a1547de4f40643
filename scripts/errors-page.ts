import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { precedingComment } from './api/declaration-file.ts'
import { packageSources, ROOT } from './repository.ts'

const PAGE = join(ROOT, 'docs/errors.md')
/** Codes of Node.js, and what several of ours begin with: we only compare with them. */
const COMPARED = new Set([
  'ERR_MODULE_NOT_FOUND',
  'ERR_HTTP_REQUEST_TIMEOUT',
  'ERR_WORKER_OUT_OF_MEMORY',
  'ERR_LEASE',
])

const HEAD = `# Errors

Every error that Tidemark throws on purpose is a \`CodedError\`: it has a \`code\`, which is stable across releases, and \`retryable\`.
Branch on the code, never on the message or on \`instanceof\`. The gateway maps codes to HTTP statuses, and the command prints
them as \`tidemark: CODE: message\`.

The command adds two codes: \`ERR_USAGE\` (exit code 2: the arguments cannot be understood, and nothing was done; see
\`--help\`) and \`ERR_FAILED\` (exit code 1: an error without a code, which is most likely a bug in Tidemark; please report it).

The [page](guide/page.md) and what is served beside it add, in the \`code\` of an answer: \`ERR_UNAUTHORIZED\` (401: no credentials, or wrong ones),
\`ERR_FORBIDDEN\` (403: the guard refuses), \`ERR_WRONG_HOST\` (403: on loopback, the Host header must name this machine, or be one of
\`allowedHosts\`), \`ERR_CROSS_SITE\` (403: what a page of another site sent or loads), \`ERR_READ_ONLY\` (403: it refuses every action),
\`ERR_UNSUPPORTED_TYPE\` (415: an action is JSON) and \`ERR_PAGE_CLOSED\` (503: the server stops).

This page is written by \`node scripts/errors-page.ts\` from the doc comments of the error classes.
`

/** One error class, as its source describes it. */
export interface DescribedError {
  readonly code: string
  readonly className: string
  readonly packageName: string
  readonly retryable: boolean
  readonly cause: string
  /** What to do; empty when the doc comment has no \`@remedy\`. */
  readonly remedy: string
}

/** The classes of a file that extend \`CodedError\` and have a code. */
export function readErrors(path: string, text: string): readonly DescribedError[] {
  const { program, comments } = parseSync(path, text)
  return program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const { declaration } = statement
    if (declaration?.type !== 'ClassDeclaration') return []
    const { superClass, body, id } = declaration
    if (superClass?.type !== 'Identifier' || superClass.name !== 'CodedError') return []
    const value = (name: string): unknown => {
      for (const member of body.body) {
        if (member.type !== 'PropertyDefinition' || member.key.type !== 'Identifier') continue
        if (member.key.name === name && member.value?.type === 'Literal') return member.value.value
      }
      return undefined
    }
    const comment = precedingComment(statement.start, text, comments)
    const [cause = '', remedy = ''] = comment.replaceAll(/\s+/g, ' ').split(/\s*@remedy\s+/)
    return {
      code: String(value('code')),
      className: id?.name ?? '',
      packageName: packageOf(path),
      retryable: value('retryable') === true,
      cause,
      remedy,
    }
  })
}

/** The errors of all packages, by code. */
export function readAllErrors(): readonly DescribedError[] {
  return packageSources(ROOT)
    .flatMap((path) => readErrors(path, readFileSync(join(ROOT, path), 'utf8')))
    .toSorted((a, b) => (a.code < b.code ? -1 : 1))
}

/** Codes that stand in the sources of the packages and not on the page. */
export function missingCodes(page: string): readonly string[] {
  const codes = new Set(
    packageSources(ROOT).flatMap(
      (path) => readFileSync(join(ROOT, path), 'utf8').match(/(?<=')ERR_[A-Z_]+(?=')/g) ?? [],
    ),
  )
  return [...codes].filter((code) => !COMPARED.has(code) && !page.includes(`\`${code}\``))
}

export function errorsPage(errors: readonly DescribedError[]): string {
  const entries = errors.map(
    ({ code, className, packageName, retryable, cause, remedy }) =>
      `## \`${code}\`\n\n${cause}\n\n**What to do.** ${remedy}\n\n` +
      `\`${className}\` of \`${packageName}\`; retryable: ${retryable ? 'yes' : 'no'}.\n`,
  )
  return [HEAD, ...entries].join('\n')
}

function packageOf(path: string): string {
  const folder = path.split('/')[1] ?? ''
  return folder === 'tidemark' ? folder : `@tidemark/${folder}`
}

if (import.meta.main) writeFileSync(PAGE, errorsPage(readAllErrors()))
