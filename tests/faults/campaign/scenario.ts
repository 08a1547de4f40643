import type { Promised } from './judge.ts'
import type { CampaignStage } from './stage.ts'

/** What was done on a stage, and what may come of it. */
export interface Told extends Partial<Omit<Promised, 'maxItemCount'>> {
  /** How many faults were made that showed. */
  readonly faults: number
  /** Signs that the faults happened, counted. Each must be above 0, else nothing was shown. */
  readonly signs: Readonly<Record<string, number>>
  /** Events of hosts that are alarming elsewhere, and that the fault is a reason for. @default none */
  readonly tolerates?: readonly string[] | undefined
  /** Codes of errors by which hosts may stop by themselves. @default none */
  readonly ends?: readonly string[] | undefined
  /** For people. */
  readonly figures?: string | undefined
}

/** One kind of fault, made for real on a stage: it is made, and waited for until it is over. */
export interface StagedScenario {
  readonly name: string
  readonly about: string
  /** Rejects when something that must happen does not. */
  readonly act: (stage: CampaignStage) => Promise<Told>
}

export interface ScenarioResult {
  readonly name: string
  readonly tookMs: number
  readonly written: number
  readonly faults: number
  readonly signs: Told['signs']
  readonly figures: string | undefined
  /** Changes that were written and whose work was never done. */
  readonly lost: number
  readonly outOfOrder: number
  /** Deliveries to a second owner, a third, … of a change. */
  readonly duplicates: number
  readonly bound: number
  /** How the bound came about. */
  readonly boundText: string
  /** Sentences; empty when all is as promised. They also say what is lost, out of order, or repeated too often. */
  readonly wrong: readonly string[]
}

export interface Scenario {
  readonly name: string
  readonly about: string
  /** Never rejects. */
  readonly run: (seed: number) => Promise<ScenarioResult>
}
