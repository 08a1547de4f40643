import type { Attributes } from '@opentelemetry/api'
import type {
  HostEventListener,
  HostEventName,
  HostHealth,
  HostListenerOptions,
  HostStatus,
  LeaseHealth,
} from '@tidemark/processor'
import { ATTRIBUTE, OWN } from './attributes.ts'
import { errorTypeOf } from './error-type.ts'
import { meterOf, observing, type InstrumentOptions } from './instruments.ts'
import { counterOf } from './metrics.ts'

/** What is needed of a `ChangeFeedProcessorHost`. */
export interface InstrumentedHost {
  readonly group: string
  readonly hostName: string
  health(): HostHealth
  on<Name extends HostEventName>(
    name: Name,
    listener: HostEventListener<Name>,
    options?: HostListenerOptions,
  ): unknown
  off<Name extends HostEventName>(name: Name, listener: HostEventListener<Name>): unknown
}

const STATUSES: readonly HostStatus[] = [
  'idle',
  'starting',
  'running',
  'degraded',
  'recovering',
  'fenced',
  'stopping',
  'stopped',
]

const LEASE_STATES: readonly LeaseHealth['state'][] = [
  'waiting',
  'running',
  'draining',
  'aborting',
  'releasing',
  'replacing',
  'rangeGone',
  'fenced',
]

/** Events that somebody may have to look at. */
const INCIDENTS = [
  'deadLetterFailed',
  'deadLettersSuspended',
  'fenced',
  'horizonPassed',
  'leaseFenced',
  'leaseStoreLost',
  'leasesDamaged',
  'observerStuck',
  'observerThreadEnded',
  'positionReportFailed',
  'rangeHalted',
] as const satisfies readonly HostEventName[]

/** Counts what the host tells, and reads its health when metrics are collected, until it is disposed. */
export function instrumentHost(
  host: InstrumentedHost,
  options: InstrumentOptions = {},
): Disposable {
  const meter = meterOf(options)
  const about: Attributes = {
    [ATTRIBUTE.group]: host.group,
    [ATTRIBUTE.client]: host.hostName,
  }
  const counters = countEvents(host, { meter, about })
  const gauges = observing(meter, {
    gauges: [
      'tidemark.host.leases',
      'tidemark.host.status',
      'tidemark.host.session.remaining',
      'tidemark.host.stalled',
    ],
    observe: (observe) => {
      const { status, leases, sessionValidForMs } = host.health()
      for (const state of LEASE_STATES) {
        const count = leases.filter((lease) => lease.state === state).length
        observe('tidemark.host.leases', count, { ...about, [OWN.leaseState]: state })
      }
      for (const one of STATUSES) {
        const isIt = one === status ? 1 : 0
        observe('tidemark.host.status', isIt, { ...about, [OWN.hostStatus]: one })
      }
      observe('tidemark.host.session.remaining', (sessionValidForMs ?? 0) / 1000, about)
      const stalledMs = leases.map(({ noProgressForMs }) => noProgressForMs)
      observe('tidemark.host.stalled', Math.max(0, ...stalledMs) / 1000, about)
    },
  })
  return {
    [Symbol.dispose]: () => {
      counters[Symbol.dispose]()
      gauges[Symbol.dispose]()
    },
  }
}

function countEvents(
  host: InstrumentedHost,
  { meter, about }: { readonly meter: ReturnType<typeof meterOf>; readonly about: Attributes },
): Disposable {
  const stops: (() => void)[] = []
  const on = <Name extends HostEventName>(name: Name, listener: HostEventListener<Name>): void => {
    // What is counted is to be read in the log all the same.
    host.on(name, listener, { countsOnly: true })
    stops.push(() => host.off(name, listener))
  }
  const transitions = counterOf(meter, 'tidemark.lease.transitions')
  const moved = (transition: string, reason?: string): void =>
    transitions.add(1, {
      ...about,
      [OWN.transition]: transition,
      ...(reason !== undefined && { [OWN.reason]: reason }),
    })
  on('leaseAcquired', () => moved('acquired'))
  on('leaseReleased', ({ reason }) => moved('released', reason))
  on('leaseLost', ({ cause }) => moved('lost', cause))
  on('rangeReplaced', () => moved('split'))
  on('leaseCut', () => moved('cut'))
  on('leasesJoined', () => moved('joined'))
  const failures = (metric: string): ((error: unknown, more?: Attributes) => void) => {
    const counter = counterOf(meter, metric)
    return (error, more) =>
      counter.add(1, { ...about, ...more, [ATTRIBUTE.errorType]: errorTypeOf(error) })
  }
  const observerFailed = failures('tidemark.observer.errors')
  on('observerError', ({ error, phase }) => observerFailed(error, { [OWN.phase]: phase }))
  const feedFailed = failures('tidemark.feed.errors')
  on('feedError', ({ error }) => feedFailed(error))
  const leaseStoreFailed = failures('tidemark.lease_store.errors')
  on('leaseStoreUnavailable', ({ error }) => leaseStoreFailed(error))
  const checkpoints = counterOf(meter, 'tidemark.checkpoints')
  on('checkpointed', () => checkpoints.add(1, about))
  const letters = counterOf(meter, 'tidemark.dead_letters')
  on('deadLettered', () => letters.add(1, about))
  const redriven = counterOf(meter, 'tidemark.dead_letters.redriven')
  on('redriven', () => redriven.add(1, about))
  const incidents = counterOf(meter, 'tidemark.host.incidents')
  for (const incident of INCIDENTS) {
    on(incident, () => incidents.add(1, { ...about, [OWN.incident]: incident }))
  }
  return { [Symbol.dispose]: () => stops.forEach((stop) => stop()) }
}
