import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { parseAllDocuments } from 'yaml'

export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url))
export const DEPLOY: string = join(ROOT, 'deploy')

type Texts = Readonly<Record<string, string>>

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly timeoutSeconds: number
}

export interface Container {
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
}

/** What these tests read of the kinds of resources of Kubernetes. */
interface Kinds {
  readonly Deployment: {
    readonly metadata: { readonly name: string }
    readonly spec: {
      readonly selector: { readonly matchLabels: Texts }
      readonly template: {
        readonly metadata: { readonly labels: Texts; readonly annotations: Texts }
        readonly spec: {
          readonly terminationGracePeriodSeconds: number
          readonly containers: readonly Container[]
          readonly volumes?: readonly { readonly secret: { readonly defaultMode: number } }[]
        }
      }
    }
  }
  readonly Service: {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly ports: readonly { readonly port: number }[] }
  }
  readonly PodDisruptionBudget: {
    readonly spec: { readonly selector: { readonly matchLabels: Texts } }
  }
  readonly ScaledObject: {
    readonly spec: {
      readonly scaleTargetRef: { readonly name: string }
      readonly minReplicaCount: number
      readonly triggers: readonly Trigger[]
    }
  }
  readonly TriggerAuthentication: {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly secretTargetRef: readonly { readonly parameter: string }[] }
  }
}

interface Trigger {
  readonly type: string
  readonly metadata: Texts
  readonly authenticationRef?: { readonly name: string }
}

interface ComposeService {
  readonly command: readonly string[]
  readonly ports: readonly string[]
  readonly volumes: readonly string[]
}

/** What these tests read of each other file. */
interface Files {
  readonly 'compose.yaml': {
    readonly services: {
      readonly gateway: ComposeService & {
        readonly stop_grace_period: string
        readonly configs: readonly { readonly mode: number }[]
      }
      readonly prometheus: ComposeService & {
        readonly secrets: readonly { readonly target: string; readonly mode: number }[]
      }
      readonly grafana: ComposeService
    }
    readonly configs: { readonly credentials: { readonly content: string } }
    readonly secrets: { readonly token: { readonly environment: string } }
  }
  readonly 'grafana/provisioning/dashboards/tidemark.yaml': {
    readonly providers: readonly { readonly options: { readonly path: string } }[]
  }
  readonly 'grafana/tidemark.json': {
    readonly templating: {
      readonly list: readonly { readonly name: string; readonly definition?: string }[]
    }
    readonly panels: readonly Panel[]
  }
  readonly 'prometheus/alerts.yaml': {
    readonly groups: readonly {
      readonly rules: readonly {
        readonly alert: string
        readonly expr: string
        readonly labels: Texts
        readonly annotations: Texts
      }[]
    }[]
  }
  readonly 'prometheus/prometheus.yaml': {
    readonly rule_files: readonly string[]
    readonly scrape_configs: readonly {
      readonly authorization: { readonly credentials_file: string }
      readonly static_configs: readonly { readonly targets: readonly string[] }[]
    }[]
  }
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
  readonly targets?: readonly {
    readonly expr: string
    readonly legendFormat: string
    readonly datasource: { readonly uid: string }
  }[]
}

/** Of `deploy/`. */
export const files: readonly string[] = readdirSync(DEPLOY, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(ya?ml|json)$/.test(name))
  .sort()

/** The documents of a file. Numbers are those of Kubernetes and compose: 0440 is octal. */
export function documentsOf(file: string): readonly unknown[] {
  const text = readFileSync(join(DEPLOY, file), 'utf8')
  if (file.endsWith('.json')) return [JSON.parse(text)]
  const documents = parseAllDocuments(text, { version: '1.1' })
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([])
  return documents.map((document) => document.toJS() as unknown)
}

export function load<File extends keyof Files>(file: File): Files[File] {
  const [document, ...others] = documentsOf(file)
  expect(others).toEqual([])
  return document as Files[File]
}

/** The only one of that kind in a file. */
export function resource<Kind extends keyof Kinds>(file: string, kind: Kind): Kinds[Kind] {
  const all = documentsOf(`kubernetes/${file}`) as readonly { readonly kind: string }[]
  return only(all.filter((one) => one.kind === kind)) as unknown as Kinds[Kind]
}

export function containerOf(file: string): Container {
  return only(resource(file, 'Deployment').spec.template.spec.containers)
}

export function trigger(file: string): Trigger {
  return only(resource(file, 'ScaledObject').spec.triggers)
}

/** The one that a list has. */
export function only<Item>(list: readonly Item[] | undefined): Item {
  expect(list).toHaveLength(1)
  return list?.[0] as Item
}
