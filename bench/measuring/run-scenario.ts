import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './statistics.ts'
import type { Figures, Measure, Scenario } from './scenario.ts'

export interface RunOptions {
  /** Length of one measurement of one side. */
  readonly seconds: number
  /** Measurements of each side; the medians are reported. */
  readonly runs: number
  readonly documents: number
  readonly manyDocuments: number
}

/** One entry of the result file. */
export interface Result {
  readonly name: string
  /** Median of `runs`. */
  readonly value: number
  readonly unit: string
  /** Median of the limit measured beside it. */
  readonly raw: number
  readonly ratio: number
  readonly runs: readonly number[]
}

/** A result with what the table needs to explain it. */
export interface MeasuredResult extends Result {
  readonly measure: Measure
}

/** Measures ours and the limit in turns (A B A B …) after one short warm-up of each. */
export async function runScenario(
  scenario: Scenario,
  { seconds, runs, documents, manyDocuments }: RunOptions,
): Promise<readonly MeasuredResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'))
  try {
    await using prepared = await scenario.prepare({ folder, documents, manyDocuments })
    const warmUp = Math.min(0.5, seconds / 4)
    await prepared.ours(warmUp)
    await prepared.raw(warmUp)
    const ours: Figures[] = []
    const raw: Figures[] = []
    for (let run = 0; run < runs; run++) {
      ours.push(await prepared.ours(seconds))
      raw.push(await prepared.raw(seconds))
    }
    return scenario.measures.map((measure) => resultOf(measure, ours, raw))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function resultOf(
  measure: Measure,
  ours: readonly Figures[],
  raw: readonly Figures[],
): MeasuredResult {
  const runs = ours.map((figures) => figureOf(figures, measure.name))
  const value = median(runs)
  const limit = median(raw.map((figures) => figureOf(figures, measure.name)))
  return {
    name: measure.name,
    value: round(value),
    unit: measure.unit,
    raw: round(limit),
    ratio: round(value / limit),
    runs: runs.map(round),
    measure,
  }
}

function figureOf(figures: Figures, name: string): number {
  const figure = figures[name]
  if (figure === undefined) throw new Error(`the scenario did not measure ${name}`)
  return figure
}

/** Four significant digits: more would pretend a precision that is not there. */
function round(value: number): number {
  return Number(value.toPrecision(4))
}
