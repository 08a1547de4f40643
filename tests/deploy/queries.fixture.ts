import { METRICS, prometheusName, type MetricDescription } from '@tidemark/otel'
import type { HostStatus, LeaseEstimateState } from '@tidemark/processor'

/** Labels of each series, by its name in Prometheus. */
export const labelsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ['up', []],
  ...METRICS.flatMap(seriesOf),
])

function seriesOf(metric: MetricDescription): [name: string, labels: readonly string[]][] {
  const name = prometheusName(metric)
  const labels = metric.attributes.map((attribute) => attribute.replaceAll('.', '_'))
  if (metric.kind !== 'histogram') return [[name, labels]]
  return [
    [`${name}_sum`, labels],
    [`${name}_count`, labels],
    [`${name}_bucket`, [...labels, 'le']],
  ]
}

/** Of the scrape. */
const SCRAPED = ['job', 'instance']

/** Values that queries may look for. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  tidemark_lease_state: ['silent', 'unowned', 'missing'] satisfies readonly LeaseEstimateState[],
  tidemark_host_status: ['running'] satisfies readonly HostStatus[],
  tidemark_lease_transition: ['lost'],
  tidemark_message_state: ['deadLetter'],
  job: ['tidemark.*'],
  http_response_status_code: ['5..'],
  messaging_consumer_group_name: ['$group', 'mirror'],
}

/** What is wrong about a query is added: names that nothing has. Returns the labels that its result has. */
export function checkQuery(query: string, wrong: string[]): ReadonlySet<string> {
  const names = [
    ...query.matchAll(/\b(?:up|(?:tidemark|messaging|http|process|nodejs)_\w+)\b/g),
  ].map(([name]) => name)
  const known = new Set([...SCRAPED, ...names.flatMap((name) => labelsOf.get(name) ?? [])])
  if (!names.some((name) => labelsOf.has(name))) wrong.push(`no metric in ${query}`)
  for (const name of names) {
    if (!labelsOf.has(name) && !known.has(name)) wrong.push(`${name} in ${query}`)
  }
  for (const [, label = '', text = ''] of query.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)) {
    if (!known.has(label)) wrong.push(`label ${label} in ${query}`)
    for (const value of text.split('|')) {
      if (VALUES[label]?.includes(value) !== true) wrong.push(`${label}=${value} in ${query}`)
    }
  }
  const grouped = [...query.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim()),
  )
  for (const name of grouped) if (!known.has(name)) wrong.push(`by ${name} in ${query}`)
  return new Set(query.startsWith('up') ? SCRAPED : grouped)
}
