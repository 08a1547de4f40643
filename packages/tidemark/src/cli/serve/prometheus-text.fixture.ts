/** A family of metrics in Prometheus' text format, version 0.0.4. */
export interface PrometheusFamily {
  readonly type: string
  readonly help: string
  readonly samples: readonly PrometheusSample[]
}

export interface PrometheusSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped']
const SAMPLE = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)/y

/** Reads the format by its rules. Throws with the line that breaks one. */
export function parsePrometheus(text: string): ReadonlyMap<string, PrometheusFamily> {
  const families = new Map<string, { type: string; help: string; samples: PrometheusSample[] }>()
  const seen = new Set<string>()
  let current: string | undefined
  if (!text.endsWith('\n')) throw new Error('the last line must end, too')
  for (const line of text.split('\n')) {
    const refuse = (why: string): Error => new Error(`${why}: ${line}`)
    if (line === '' || /^#(?! HELP | TYPE )/.test(line)) continue
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? []
    if (keyword !== undefined) {
      if (!NAME.test(name)) throw refuse('no name')
      const family = families.get(name) ?? { type: '', help: '', samples: [] }
      if (family.samples.length > 0 || (name !== current && families.has(name))) {
        throw refuse('a family must stand together, its description first')
      }
      if (keyword === 'TYPE' && (family.type !== '' || !TYPES.includes(rest))) {
        throw refuse('no type, or a second one')
      }
      families.set(name, { ...family, [keyword === 'TYPE' ? 'type' : 'help']: rest })
      current = name
      continue
    }
    const [, sampleName = '', labelText = '', number = ''] = SAMPLE.exec(line) ?? []
    if (!NAME.test(sampleName)) throw refuse('no sample')
    const labels = labelsOf(labelText)
    const value = number === '+Inf' ? Infinity : Number(number)
    if (labels === undefined || (Number.isNaN(value) && number !== 'NaN')) throw refuse('no sample')
    const family = families.get(current ?? '')
    const isPart = family?.type === 'histogram' && /_(?:bucket|sum|count)$/.test(sampleName)
    if (family === undefined || (isPart ? baseOf(sampleName) : sampleName) !== current) {
      throw refuse('not of the family that it stands in')
    }
    const key = `${sampleName} ${JSON.stringify(labels, Object.keys(labels).toSorted(byText))}`
    if (seen.has(key)) throw refuse('twice')
    seen.add(key)
    family.samples.push({ name: sampleName, labels, value })
  }
  for (const [name, family] of families) checkFamily(name, family)
  return families
}

function labelsOf(text: string): Record<string, string> | undefined {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex
    const [, name = '', value = ''] = LABEL.exec(text) ?? []
    if (name === '' || LABEL.lastIndex === at || name in labels) return undefined
    labels[name] = value.replaceAll(/\\([\\n"])/g, (_, one) => (one === 'n' ? '\n' : String(one)))
  }
  return labels
}

function checkFamily(name: string, { type, help, samples }: PrometheusFamily): void {
  if (type === '' || help === '') throw new Error(`${name} has no type or no help`)
  if (type === 'counter') {
    if (!name.endsWith('_total')) throw new Error(`${name}: a counter ends with _total`)
    if (samples.some(({ value }) => !(value >= 0))) throw new Error(`${name}: a counter below 0`)
  }
  if (type !== 'histogram') return
  const buckets = Map.groupBy(
    samples.filter((sample) => sample.name === `${name}_bucket`),
    ({ labels: { le: _, ...others } }) => JSON.stringify(others),
  )
  for (const sample of samples.filter((one) => one.name === `${name}_count`)) {
    const own = buckets.get(JSON.stringify(sample.labels)) ?? []
    const counts = own.map(({ value }) => value)
    const isRising = counts.every((count, index) => count >= (counts[index - 1] ?? 0))
    const last = own.at(-1)
    if (!isRising || last?.labels['le'] !== '+Inf' || last.value !== sample.value) {
      throw new Error(`${name}: its buckets do not rise to +Inf and its count`)
    }
  }
}

function baseOf(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, '')
}

function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
