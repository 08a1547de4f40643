import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import {
  containerOf,
  documentsOf,
  files,
  load,
  only,
  resource,
  ROOT,
  trigger,
} from './files.fixture.ts'
import { checkQuery, labelsOf } from './queries.fixture.ts'
import { RunningCommand } from './running-command.fixture.ts'

afterEach(() => RunningCommand.killAll())

test('every file is one that these tests know', () => {
  expect(files).toEqual([
    'compose.yaml',
    'grafana/provisioning/dashboards/tidemark.yaml',
    'grafana/provisioning/datasources/prometheus.yaml',
    'grafana/tidemark.json',
    'image/package.json',
    'kubernetes/gateway.yaml',
    'kubernetes/keda-azure-cosmosdb.yaml',
    'kubernetes/keda-metrics-api.yaml',
    'kubernetes/keda-prometheus.yaml',
    'kubernetes/worker.yaml',
    'prometheus/alerts.yaml',
    'prometheus/prometheus.yaml',
  ])
  for (const file of files) expect(documentsOf(file).length).toBeGreaterThan(0)
})

test('the image holds everything that the command can be asked for', () => {
  interface Manifest {
    readonly dependencies: object
    readonly peerDependencies: object
  }
  const manifest = (folder: string): Manifest =>
    JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest
  const optional = Object.keys(manifest('packages/tidemark').peerDependencies)
  const held = Object.keys(manifest('deploy/image').dependencies)
  expect(optional.length).toBeGreaterThan(0)
  expect(held).toEqual([...optional, 'tidemark'].toSorted())
})

test('a query with a name that nothing has is found', () => {
  const wrong: string[] = []
  checkQuery('max by (messaging_client_id) (tidemark_group_lag)', wrong)
  checkQuery('tidemark_group_lags > 0', wrong)
  checkQuery('tidemark_group_leases{tidemark_lease_state="owend"}', wrong)
  checkQuery('tidemark_group_lag{tidemark_lease_state="silent"}', wrong)
  checkQuery('tidemark_group_leases{tidemark_lease_state=~"silent|missing"} > 1', wrong)
  expect(wrong.map((text) => text.replace(/ in .*/, ''))).toEqual([
    'messaging_client_id',
    'by messaging_client_id',
    'no metric',
    'tidemark_group_lags',
    'tidemark_lease_state=owend',
    'tidemark_lease_state',
    'label tidemark_lease_state',
  ])
})

test('alerts name only series, labels, values and commands that exist', async () => {
  const { groups } = load('prometheus/alerts.yaml')
  const rules = groups.flatMap((group) => group.rules)
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  const wrong: string[] = []
  for (const { alert, expr, labels, annotations } of rules) {
    const told = checkQuery(expr, wrong)
    if (!['warning', 'critical'].includes(labels['severity'] ?? ''))
      wrong.push(`severity of ${alert}`)
    const texts = Object.values(annotations).join(' ')
    for (const [, label = ''] of texts.matchAll(/\$labels\.(\w+)/g)) {
      if (!told.has(label)) wrong.push(`{{ $labels.${label} }} in ${alert}`)
    }
    for (const [, command = ''] of texts.matchAll(/"tidemark ([a-z ]+)"/g)) {
      const help = new RunningCommand([...command.split(' '), '--help'])
      if ((await help.ended()) !== 0) wrong.push(`tidemark ${command} in ${alert}`)
    }
  }
  expect(wrong).toEqual([])
})

test('the dashboard names only series and labels that exist, and no panel lies on another', () => {
  const { templating, panels } = load('grafana/tidemark.json')
  const wrong: string[] = []
  const [datasource, group, ...others] = templating.list
  expect([datasource?.name, group?.name, others]).toEqual(['datasource', 'group', []])
  const [, metric = '', label = ''] =
    /^label_values\((\w+), (\w+)\)$/.exec(group?.definition ?? '') ?? []
  expect(labelsOf.get(metric)).toContain(label)
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const taken = new Map<string, string>()
  for (const { title, type, targets = [], gridPos, description } of panels) {
    const { x, y, w, h } = gridPos
    if (x + w > 24) wrong.push(`${title} is too far right`)
    for (let at = 0; at < w * h; at += 1) {
      const cell = `${x + (at % w)}/${y + Math.floor(at / w)}`
      if (taken.has(cell)) wrong.push(`${title} lies on ${taken.get(cell)}`)
      taken.set(cell, title)
    }
    if (type === 'row') continue
    if (description === undefined || targets.length === 0)
      wrong.push(`${title} says or shows nothing`)
    for (const target of targets) {
      const told = checkQuery(target.expr, wrong)
      expect(target.datasource.uid).toBe('${datasource}')
      for (const [, name = ''] of target.legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        if (!told.has(name)) wrong.push(`{{${name}}} in ${title}`)
      }
    }
  }
  expect(wrong).toEqual([])
})

/** Of KEDA's scalers, from their source: what is needed, and what else is used here. */
const SCALERS: Readonly<Record<string, Record<'needed' | 'others' | 'auth', readonly string[]>>> = {
  // source: pkg/scalers/metrics_api_scaler.go
  'metrics-api': {
    needed: ['url', 'valueLocation', 'targetValue'],
    others: ['activationTargetValue', 'authMode'],
    auth: ['token'],
  },
  // source: pkg/scalers/prometheus_scaler.go
  prometheus: {
    needed: ['serverAddress', 'query', 'threshold'],
    others: ['activationThreshold'],
    auth: [],
  },
  // source: pkg/scalers/azure_cosmosdb_scaler.go
  'azure-cosmosdb': {
    needed: ['databaseId', 'containerId', 'leaseDatabaseId', 'leaseContainerId', 'processorName'],
    others: ['endpoint', 'changeFeedLagThreshold', 'activationChangeFeedLagThreshold'],
    auth: ['cosmosDBKey'],
  },
}

test.each(Object.entries(SCALERS))(
  'the scaler %s has what it reads, and nothing else',
  (type, { needed, others, auth }) => {
    const file = `keda-${type}.yaml`
    const { type: given, metadata, authenticationRef } = trigger(file)
    expect(given).toBe(type)
    expect(Object.keys(metadata).sort()).toEqual([...needed, ...others].sort())
    // KEDA takes texts only.
    expect(Object.values(metadata).filter((value) => typeof value !== 'string')).toEqual([])
    if (auth.length > 0) {
      const secrets = resource(file, 'TriggerAuthentication')
      expect(authenticationRef?.name).toBe(secrets.metadata.name)
      const parameters = secrets.spec.secretTargetRef.map(({ parameter }) => parameter)
      expect(parameters).toEqual(auth)
    }
    const { spec } = resource(file, 'ScaledObject')
    expect(spec.scaleTargetRef.name).toBe(resource('worker.yaml', 'Deployment').metadata.name)
    expect(spec.minReplicaCount).toBeGreaterThan(0)
  },
)

test('the scaler by Prometheus asks for a series that exists', () => {
  const wrong: string[] = []
  checkQuery(trigger('keda-prometheus.yaml').metadata['query'] ?? '', wrong)
  expect(wrong).toEqual([])
})

test.each(['gateway.yaml', 'worker.yaml'])('%s selects its pods, and names its ports', (file) => {
  const { spec } = resource(file, 'Deployment')
  const { labels, annotations } = spec.template.metadata
  expect(spec.selector.matchLabels).toEqual(labels)
  expect(resource(file, 'PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels)
  const { ports, livenessProbe, readinessProbe } = containerOf(file)
  for (const { httpGet, timeoutSeconds } of [livenessProbe, readinessProbe]) {
    expect(ports.map(({ name }) => name)).toContain(httpGet.port)
    // /readyz gives a store 2 s.
    expect(timeoutSeconds).toBeGreaterThan(2)
  }
  expect(ports.map(({ containerPort }) => String(containerPort))).toContain(
    annotations['prometheus.io/port'],
  )
  expect(annotations['prometheus.io/path']).toBe('/metrics')
})

/** Of an option that is a number, as its declaration says it. */
function defaultOf(option: string, file: string): number {
  const text = readFileSync(join(ROOT, 'packages', file), 'utf8')
  const declared = new RegExp(`@default ([\\d_]+)[^@]*?\\*/\\s+(?:readonly )?${option}\\?:`)
  const [, value = ''] = declared.exec(text) ?? []
  expect([option, value]).not.toEqual([option, ''])
  return Number(value.replaceAll('_', ''))
}

test('what is stopped has the time that a stop may take', () => {
  const graceMs = (file: string): number =>
    resource(file, 'Deployment').spec.template.spec.terminationGracePeriodSeconds * 1000
  const drainMs =
    defaultOf('shutdownTimeoutMs', 'processor/src/host/host-options.ts') +
    defaultOf('abortGraceMs', 'processor/src/feed-processing/pump-options.ts')
  expect(graceMs('worker.yaml')).toBeGreaterThanOrEqual(drainMs + 10_000)
  const stopMs = defaultOf('stopTimeoutMs', 'gateway/src/server/start-gateway.ts')
  const { seconds = 0 } = containerOf('gateway.yaml').lifecycle?.preStop.sleep ?? {}
  expect(graceMs('gateway.yaml')).toBeGreaterThanOrEqual(seconds * 1000 + stopMs + 5_000)
  const { services } = load('compose.yaml')
  expect(Number.parseInt(services.gateway.stop_grace_period) * 1000).toBeGreaterThanOrEqual(
    stopMs + 5_000,
  )
})

test('files with secrets are not for everybody to read', () => {
  const { volumes } = resource('gateway.yaml', 'Deployment').spec.template.spec
  const { services } = load('compose.yaml')
  const modes = [
    only(volumes).secret.defaultMode,
    only(services.gateway.configs).mode,
    only(services.prometheus.secrets).mode,
  ]
  expect(modes.map((mode) => mode.toString(8))).toEqual(['440', '400', '400'])
})
