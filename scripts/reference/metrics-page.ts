import { METRICS, prometheusName, type MetricDescription } from '@tidemark/otel'
import { prose } from './page-text.ts'

const HEAD = `# Metrics

Every metric of \`@tidemark/otel\`: its name, the name that Prometheus gets, kind, unit, meaning and attributes. The
[guide](../guide/telemetry.md) shows how to turn them on.

This page is written by \`npm run reference\` from the package.
`

export function metricsPage(metrics: readonly MetricDescription[] = METRICS): string {
  return `${HEAD}\n${metrics.map(metricText).join('\n')}\n`
}

/** Metrics that do not say what they measure. */
export function metricGaps(metrics: readonly MetricDescription[] = METRICS): readonly string[] {
  return metrics
    .filter(({ description, unit }) => description === '' || unit === '')
    .map(({ name }) => `${name}: give it a description and a unit in packages/otel/src/metrics.ts`)
}

function metricText(metric: MetricDescription): string {
  const { name, kind, unit, description, attributes } = metric
  const names = attributes.map((one) => `\`${one}\``).join(', ')
  const by = names === '' ? '' : ` By ${names}.`
  return (
    `- **\`${name}\`** ${kind} in \`${unit}\`; \`${prometheusName(metric)}\`.\n` +
    `  ${prose(description)}.${by}`.replace('..', '.')
  )
}
