import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { firstSentence, readProtocolIds, readRules, type Rule } from './spec-rules/read-rules.ts'
import { readTestNames } from './spec-rules/read-test-names.ts'
import { ROOT } from './repository.ts'

/** Rules that no test shows, with the reason. A rule that has a test must not be here. */
const UNTESTED_RULES: ReadonlyMap<string, string> = new Map([
  [
    'JB-5',
    'it is about the documentation; each example, and each complete snippet of a guide, is run by a test of its own',
  ],
])

const SPEC = 'docs/spec/'
const TABLE = `${SPEC}tests.md`
/** Pages with tables of invariants and oracles. */
const PROTOCOLS = ['lease-protocol.md', 'delivery.md']
/** Pages with rules, in the order of the table. */
const PAGES = [
  'store.md',
  'change-feed.md',
  'leases.md',
  'processor.md',
  'time-to-live.md',
  'jobs.md',
  'messages.md',
]

const RULE_ID = /\b(?:ST|CF|LE|PH|TTL|JB|EXP|SCH|SES|TMP|SET|TOP|TXN)-\d+\b/g
/** Not the level of a compiler, as in -O2. */
const PROTOCOL_ID = /(?<![\w-])[DIO]\d{1,2}\b/g

/** Files that may name rules. */
const READ = /^(?:(?:packages|tests|bench|scripts|examples|docs)\/.*|[^/]+)\.(?:ts|js|lua|md)$/
/** Files with names of tests. Those of scripts show no rule. */
const HAS_TESTS =
  /^(?:packages\/.*\.test\.ts|packages\/testing\/src\/conformance\/.*|examples\/.*\.test\.ts|tests\/.*\.ts)$/
/** What users read. */
const GUIDE =
  /^(?:README|CHANGELOG|SECURITY|docs\/(?:comparison|compatibility|concepts|engines|errors|performance|security|upgrading|when-not-to-use-it|(?:comparison|guide)\/[^/]+)|(?:packages|examples)\/[^/]+\/README)\.md$/

/** Files of the repository by their paths. */
export type Files = ReadonlyMap<string, string>

/** What the check knows. */
export interface SpecRules {
  readonly rules: readonly Rule[]
  /** IDs of invariants and oracles. */
  readonly protocolIds: readonly string[]
  /** Paths of the files whose tests name a rule, by its ID. */
  readonly testsOf: ReadonlyMap<string, readonly string[]>
  /** Rules without a test, with the reason. */
  readonly untested: ReadonlyMap<string, string>
}

/** The files that may name a rule, without what git ignores. */
export function readFiles(): Files {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const paths = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' }).split('\0')
  const read = paths.filter((path) => READ.test(path) && existsSync(join(ROOT, path))).toSorted()
  return new Map(read.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}

export function readSpecRules(
  files: Files,
  untested: ReadonlyMap<string, string> = UNTESTED_RULES,
): SpecRules {
  const rules = PAGES.flatMap((page) => readRules(page, files.get(SPEC + page) ?? ''))
  const testsOf = new Map<string, string[]>()
  for (const [path, text] of files) {
    if (!HAS_TESTS.test(path) || text.search(RULE_ID) === -1) continue
    for (const id of idsOf(readTestNames(path, text).join('\n'))) {
      testsOf.set(id, [...(testsOf.get(id) ?? []), path])
    }
  }
  const protocolIds = PROTOCOLS.flatMap((page) => readProtocolIds(files.get(SPEC + page) ?? ''))
  return { rules, protocolIds, testsOf, untested }
}

/** What is wrong, a line each: IDs without a rule, rules without a test or a reason, IDs in guides for users. */
export function specProblems(files: Files, spec: SpecRules): readonly string[] {
  return [
    ...ruleProblems(spec.rules),
    ...referenceProblems(files, spec),
    ...testProblems(spec),
    ...guideProblems(files),
  ]
}

/** The page with the tests of each rule. */
export function testsPage({ rules, testsOf, untested }: SpecRules): string {
  const rows = rules.map(({ id, page, text }) => {
    const links = testsOf.get(id)?.map((path) => `[${basename(path)}](../../${path})`)
    const shown = links?.join(', ') ?? `none: ${untested.get(id) ?? ''}`
    return `| [${id}](${page}#${id.toLowerCase()}) | ${firstSentence(text)} | ${shown} |`
  })
  return `# Which tests show which rule

A test shows a rule if its name has the rule's ID. This page is written by \`node scripts/spec-rules.ts\` from the names of the tests;
the reasons of rules without a test are in \`scripts/spec-rules.ts\`. [How to read the rules](README.md).

| Rule | In short | Test files |
|---|---|---|
${rows.join('\n')}
`
}

function ruleProblems(rules: readonly Rule[]): readonly string[] {
  const seen = new Set<string>()
  return rules.flatMap(({ id, page, text, source }) => {
    const isTwice = seen.has(id)
    seen.add(id)
    return [
      ...(isTwice ? [`${SPEC}${page}: ${id} is there twice`] : []),
      ...(text === '' ? [`${SPEC}${page}: ${id} says nothing`] : []),
      ...(source === '' ? [`${SPEC}${page}: ${id} has no source`] : []),
    ]
  })
}

function referenceProblems(
  files: Files,
  { rules, protocolIds }: Pick<SpecRules, 'rules' | 'protocolIds'>,
): readonly string[] {
  const known = new Set([...rules.map(({ id }) => id), ...protocolIds])
  return [...files].flatMap(([path, text]) => {
    if (path === TABLE) return []
    const unknown = [...idsOf(text), ...idsOf(text, PROTOCOL_ID)].filter((id) => !known.has(id))
    return unknown.map((id) => `${path}: ${id} is no rule of ${SPEC}`)
  })
}

function testProblems({ rules, testsOf, untested }: SpecRules): readonly string[] {
  const ids = new Set(rules.map(({ id }) => id))
  const lacking = rules.filter(({ id }) => !testsOf.has(id) && !untested.has(id))
  const listed = [...untested.keys()]
  return [
    ...lacking.map(({ id }) => `${id} is in no name of a test, and no reason says why`),
    ...listed.filter((id) => testsOf.has(id)).map((id) => `${id} has a test, and a reason why not`),
    ...listed.filter((id) => !ids.has(id)).map((id) => `${id} has a reason, but is no rule`),
  ]
}

function guideProblems(files: Files): readonly string[] {
  return [...files].flatMap(([path, text]) =>
    GUIDE.test(path) ? idsOf(text).map((id) => `${path}: ${id} means nothing to a user`) : [],
  )
}

/** The IDs of a text, each once. */
function idsOf(text: string, pattern: RegExp = RULE_ID): readonly string[] {
  return [...new Set(text.match(pattern))]
}

if (import.meta.main) {
  const files = readFiles()
  const spec = readSpecRules(files)
  const problems = [...specProblems(files, spec)]
  const wanted = testsPage(spec)
  if (!process.argv.includes('--check')) {
    writeFileSync(join(ROOT, TABLE), wanted)
    console.log(`${spec.rules.length} rules, ${spec.untested.size} of them without a test`)
  } else if (files.get(TABLE) !== wanted) {
    problems.push(`${TABLE} is not what the tests say: node scripts/spec-rules.ts`)
  }
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
