import {
  metrics,
  type Attributes,
  type Meter,
  type Observable,
  type ObservableCounter,
} from '@opentelemetry/api'
import { systemClock, type Clock } from '@tidemark/contracts'
import { option, optionHaving, type OptionRules } from '@tidemark/contracts/internal'
import { gaugeOf } from './metrics.ts'
import { SCOPE } from './open-telemetry.ts'
import { SharedReading } from './shared-reading.ts'

export interface InstrumentOptions {
  /** What the instruments are made with. @default the global provider's */
  readonly meter?: Meter | undefined
}

export interface ReadingOptions extends InstrumentOptions {
  /** @default the machine's */
  readonly clock?: Clock | undefined
}

export const readingRules: OptionRules<ReadingOptions> = {
  meter: optionHaving('a meter', 'addBatchObservableCallback'),
  clock: option.clock,
}

export function meterOf({ meter = metrics.getMeter(SCOPE) }: InstrumentOptions): Meter {
  return meter
}

/** Sets a gauge, by its name. */
export type Observe = (name: string, value: number, attributes: Attributes) => void

interface ReadInstruments {
  readonly gauges: readonly string[]
  /** Others that `observe` sets. */
  readonly counters?: ReadonlyMap<string, ObservableCounter> | undefined
  readonly observe: (observe: Observe) => void | Promise<void>
}

/** Asks whenever metrics are collected, until it is disposed. */
export function observing(
  meter: Meter,
  { gauges, counters, observe }: ReadInstruments,
): Disposable {
  const instruments = new Map<string, Observable>(counters)
  for (const name of gauges) instruments.set(name, gaugeOf(meter, name))
  const all = [...instruments.values()]
  const callback: Parameters<Meter['addBatchObservableCallback']>[0] = (result) =>
    observe((name, value, attributes) => {
      const instrument = instruments.get(name)
      if (instrument === undefined) throw new TypeError(`no gauge ${name}`)
      result.observe(instrument, value, attributes)
    })
  meter.addBatchObservableCallback(callback, all)
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(callback, all) }
}

/** What is costly to read: collections of metrics that come soon after each other share it. */
export function shared<Value>(
  read: () => Promise<Value>,
  { clock = systemClock }: ReadingOptions,
): SharedReading<Value> {
  return new SharedReading(read, clock)
}
