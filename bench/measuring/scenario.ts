/** One figure of the report. */
export interface Measure {
  readonly name: string
  readonly unit: string
  /** What `raw` is: the limit that is measured beside ours, in a few words. */
  readonly rawIs: string
  /** What must be reached; printed beside the ratio. */
  readonly goal?: Goal | undefined
}

export interface Goal {
  /** Of `value`, or of `ratio` = value / raw. */
  readonly of: 'value' | 'ratio'
  readonly is: 'atLeast' | 'atMost'
  readonly limit: number
}

/** Figures by the name of their measure. */
export type Figures = Readonly<Record<string, number>>

export interface ScenarioContext {
  /** A folder of this scenario's own, removed afterwards. */
  readonly folder: string
  /** Documents that a scenario loads before it reads. */
  readonly documents: number
  /** Documents of scenarios that are about very many. */
  readonly manyDocuments: number
}

/**
 * A scenario measures our side and the limit beside it in turns, so that whatever else the machine
 * does hits both.
 */
export interface Scenario {
  readonly name: string
  readonly measures: readonly Measure[]
  prepare(context: ScenarioContext): Promise<PreparedScenario>
}

export interface PreparedScenario extends AsyncDisposable {
  /** Measures for about `seconds`, or a fixed amount of work where a rate needs it. */
  ours(seconds: number): Promise<Figures>
  raw(seconds: number): Promise<Figures>
}

/** Thrown by `prepare` when this machine lacks what the scenario needs; the reason is reported. */
export class ScenarioSkipped extends Error {
  override readonly name = 'ScenarioSkipped'
}
