import { performance } from 'node:perf_hooks'
import { ATTRIBUTE } from '../attributes.ts'
import { meterOf, observing, type InstrumentOptions } from '../instruments.ts'
import { observedCounterOf } from '../metrics.ts'

/** CPU, memory, uptime and event loop of this process, when metrics are collected, until it is disposed. */
export function instrumentProcess(options: InstrumentOptions = {}): Disposable {
  const meter = meterOf(options)
  let last = performance.eventLoopUtilization()
  return observing(meter, {
    gauges: ['process.memory.usage', 'process.uptime', 'nodejs.eventloop.utilization'],
    counters: new Map([['process.cpu.time', observedCounterOf(meter, 'process.cpu.time')]]),
    observe: (observe) => {
      const { user, system } = process.cpuUsage()
      observe('process.cpu.time', user / 1e6, { [ATTRIBUTE.cpuMode]: 'user' })
      observe('process.cpu.time', system / 1e6, { [ATTRIBUTE.cpuMode]: 'system' })
      observe('process.memory.usage', process.memoryUsage.rss(), {})
      observe('process.uptime', process.uptime(), {})
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      observe('nodejs.eventloop.utilization', utilization, {})
    },
  })
}
