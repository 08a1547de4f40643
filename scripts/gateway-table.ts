import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Feature } from './gateway-table/read-cases.ts'
import { countCases, featuresAsMarkdown, readSuite } from './gateway-table/read-suite.ts'
import { ROOT } from './repository.ts'

const SUITE = join(ROOT, 'tests/interop')
const DOCUMENT = join(ROOT, 'docs/gateway.md')
const BEGIN = '<!-- cases: written by scripts/gateway-table.ts -->'
const END = '<!-- end of cases -->'

/** Files in the order in which their features are listed; those that are not named here come last. */
const ORDER = [
  'account',
  'containers',
  'offers-and-ranges',
  'rids',
  'documents',
  'keys',
  'patch',
  'batch',
  'bulk',
  'read-feed',
  'queries',
  'queries-across-ranges',
  'query-plans',
  'query-clients',
  'computed-properties',
  'change-feed',
  'change-feed-versions',
  'keda-scaler',
  'waiting-reads',
  'ttl',
  'session',
  'authorization',
  'answers',
  'on-sqlite',
]

/** All features of the suite, in the order of the document. */
export function readFeatures(): readonly Feature[] {
  return readSuite(SUITE, ORDER)
}

/** The document with the features in its marked region. */
export function withFeatures(document: string, features: readonly Feature[]): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`the document has no region ${BEGIN} … ${END}`)
  const before = document.slice(0, begin + BEGIN.length)
  return `${before}\n\n${featuresAsMarkdown(features)}\n\n${document.slice(end)}`
}

if (import.meta.main) {
  const present = readFileSync(DOCUMENT, 'utf8')
  const features = readFeatures()
  const wanted = withFeatures(present, features)
  if (!process.argv.includes('--check')) {
    writeFileSync(DOCUMENT, wanted)
    console.log(`${countCases(features)} cases of ${features.length} features`)
  } else if (present !== wanted) {
    console.error('docs/gateway.md is not what the suite says: node scripts/gateway-table.ts')
    process.exitCode = 1
  }
}
