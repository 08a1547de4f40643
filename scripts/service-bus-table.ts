import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Feature } from './gateway-table/read-cases.ts'
import { countCases, featuresAsMarkdown, readSuite } from './gateway-table/read-suite.ts'
import { firstSentence, readRules, type Rule } from './spec-rules/read-rules.ts'
import { ROOT } from './repository.ts'

const OF_THE_WIRE = join(ROOT, 'tests/interop-amqp')
const SUITE = join(ROOT, 'packages/testing/src/conformance/messaging')
const RULES = 'messages.md'
const PAGE = join(ROOT, 'docs/spec/service-bus-client.md')
const RULE_ID = /\b(?:EXP|SCH|SES|TMP|SET|TOP|TXN)-\d+\b/g

/** Files in the order in which their features are listed; those that are not named here come last. */
const SUITE_ORDER = [
  'settlement',
  'refusals',
  'scheduling',
  'expiry',
  'expiry-decisions',
  'sessions',
  'sessions-expiry',
  'topics',
  'forwarding',
  'temporary',
]
const ORDER = [
  'send',
  'values',
  'receive',
  'settle',
  'expiry',
  'sessions',
  'topics',
  'transactions',
  'access',
  'disconnects',
  'fronts',
  'feeds',
  'proton',
  'administration',
  'administration-topics',
]

/** Cases of the clients of others, in the order of the page: the suite by their driver, and what is of the wire only. */
export function readClientCases(): readonly Feature[] {
  return [...readSuite(SUITE, SUITE_ORDER, '.ts'), ...readSuite(OF_THE_WIRE, ORDER)]
}

export function readMessageRules(): readonly Rule[] {
  return readRules(RULES, readFileSync(join(ROOT, 'docs/spec', RULES), 'utf8'))
}

/** The whole page: how many cases show each rule, and every case by its name. */
export function clientPage(features: readonly Feature[], rules: readonly Rule[]): string {
  const counts = countByRule(features)
  const rows = rules.map(({ id, page, text }) => {
    const count = counts.get(id) ?? 0
    return `| [${id}](${page}#${id.toLowerCase()}) | ${firstSentence(text)} | ${count === 0 ? '–' : count} |`
  })
  return `# What Service Bus clients can do here

The unmodified \`@azure/service-bus\` client, and Qpid Proton for Python as a client of another family, do what this page lists. Each line is
a case that runs with every change or every night. The first ones are those of the [suite of messages](../../packages/testing/src/conformance/messaging), which
the broker passes, too: what is true of a queue here is true of it over AMQP. The others, from *Sending* on, are in
[\`tests/interop-amqp\`](../../tests/interop-amqp). This page is written by \`node scripts/service-bus-table.ts\` from the names of the cases.

## By rule

A case counts for each [rule](messages.md) whose ID is in its name. [Other tests](tests.md) show the rules that have none (–).

| Rule | In short | Cases |
|---|---|---|
${rows.join('\n')}

## By feature

${featuresAsMarkdown(features)}
`
}

function countByRule(features: readonly Feature[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { name, count } of features.flatMap(({ cases }) => cases)) {
    for (const id of new Set(name.match(RULE_ID))) counts.set(id, (counts.get(id) ?? 0) + count)
  }
  return counts
}

if (import.meta.main) {
  const features = readClientCases()
  const wanted = clientPage(features, readMessageRules())
  if (!process.argv.includes('--check')) {
    writeFileSync(PAGE, wanted)
    console.log(`${countCases(features)} cases of ${features.length} features`)
  } else if (readFileSync(PAGE, 'utf8') !== wanted) {
    console.error(
      'docs/spec/service-bus-client.md is not what the suite says: node scripts/service-bus-table.ts',
    )
    process.exitCode = 1
  }
}
