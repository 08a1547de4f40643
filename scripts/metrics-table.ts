import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { METRICS, prometheusName } from '@tidemark/otel'

const PAGE = fileURLToPath(new URL('../docs/guide/telemetry.md', import.meta.url))
const BEGIN = '<!-- metrics: written by npm run metrics-table -->'
const END = '<!-- end of metrics -->'

/** The page with its table of metrics as the package has them. */
export function pageWithMetrics(page: string): string {
  const [before, rest] = page.split(BEGIN)
  const [, after] = rest?.split(END) ?? []
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no ${BEGIN}`)
  return `${before}${BEGIN}\n\n${table()}\n\n${END}${after}`
}

export function readPage(): string {
  return readFileSync(PAGE, 'utf8')
}

function table(): string {
  const rows = METRICS.map((metric) => {
    const { name, kind, unit, description, attributes } = metric
    const names = attributes.map((one) => `\`${one}\``).join(', ')
    return `| \`${name}\`<br>\`${prometheusName(metric)}\` | ${kind} | \`${unit}\` | ${description} | ${names === '' ? '–' : names} |`
  })
  return [
    '| Metric, and in Prometheus | Kind | Unit | What | Attributes |',
    '|---|---|---|---|---|',
  ]
    .concat(rows)
    .join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(PAGE, pageWithMetrics(readPage()))
  console.log(`${PAGE}: ${METRICS.length} metrics`)
}
