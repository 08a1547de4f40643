import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readCases, type Feature } from './gateway-table/read-cases.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
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
  const place = (file: string): number => {
    const index = ORDER.indexOf(file.replace('.test.ts', ''))
    return index === -1 ? ORDER.length : index
  }
  return readdirSync(SUITE)
    .filter((file) => file.endsWith('.test.ts'))
    .toSorted((a, b) => place(a) - place(b))
    .flatMap((file) => readCases(file, readFileSync(join(SUITE, file), 'utf8')))
}

/** The document with the features in its marked region. */
export function withFeatures(document: string, features: readonly Feature[]): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`the document has no region ${BEGIN} … ${END}`)
  const before = document.slice(0, begin + BEGIN.length)
  return `${before}\n\n${markdownOf(features)}\n\n${document.slice(end)}`
}

/** The number of cases, tables counted by their rows. */
export function countCases(features: readonly Feature[]): number {
  return features.flatMap(({ cases }) => cases).reduce((sum, { count }) => sum + count, 0)
}

function markdownOf(features: readonly Feature[]): string {
  const rows = features.map((feature) => `| ${escaped(feature.name)} | ${countCases([feature])} |`)
  const total = `| **together** | **${countCases(features)}** |`
  const lists = features.map(({ name, cases }) => {
    const lines = cases.map((one) => {
      const times = one.count === 1 ? '' : ` (${one.count} cases)`
      return `- ${escaped(one.name)}${times}`
    })
    return `### ${escaped(name)}\n\n${lines.join('\n')}`
  })
  return [['| Feature | Cases |', '|---|---|', ...rows, total].join('\n'), ...lists].join('\n\n')
}

function escaped(text: string): string {
  return text.replaceAll(/[*_<>[\]`|\\]/g, String.raw`\$&`)
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
