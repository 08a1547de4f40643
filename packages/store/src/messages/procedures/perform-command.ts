import { assertNever } from '@tidemark/contracts/internal'
import type {
  CommandAnswers,
  CommandOf,
  CommandResult,
  MessageCommand,
  RefusalReason,
  Refusal,
} from '../message-commands.ts'
import { ask, type EntityPlace, type Procedure } from '../message-rows.ts'
import { messageTime, type CallerTime, type ClockPair, type MessageTime } from '../message-time.ts'
import { acceptSession } from './accept-session.ts'
import { activate, readDue } from './activate-scheduled.ts'
import { applyDue } from './apply-due.ts'
import { cancelScheduled } from './cancel-scheduled.ts'
import { createEntities } from './create-entities.ts'
import { deleteEntity } from './delete-entity.ts'
import { discard } from './discard-messages.ts'
import { forward, readForwardable } from './forward-messages.ts'
import { countMessages, peekMessages } from './look-at-messages.ts'
import { receiveDeferred } from './receive-deferred.ts'
import { receive } from './receive-messages.ts'
import { redrive } from './redrive-messages.ts'
import { renewMessages } from './renew-messages.ts'
import { reserveNumbers, sendMessages } from './send-messages.ts'
import { performTogether } from './perform-together.ts'
import { listSessions, readSessionState, setSessionState } from './session-state.ts'
import { releaseSession, renewSession } from './session-holds.ts'
import { settleMessages } from './settle-messages.ts'
import { updateEntity } from './update-entity.ts'
import { Work } from './work.ts'

type AnyAnswer = CommandAnswers[MessageCommand['kind']]
type EntityCommand = Exclude<
  MessageCommand,
  { readonly kind: 'create' | 'update' | 'delete' | 'purge' | 'together' }
>

/** The stored pair of clocks is at most this old while commands come. */
const CLOCK_STORED_EVERY_MS = 1000

/** Numbers are given from the record that is held, so nobody changes it meanwhile. */
const HOLDING: ReadonlySet<MessageCommand['kind']> = new Set(['send', 'activate', 'reserve'])

/** Carries out a command at an instant of the store's clock. */
export function* performCommand(
  command: MessageCommand,
  time: { readonly storeMs: number; readonly caller: CallerTime },
): Procedure<CommandResult & { readonly time: MessageTime }> {
  switch (command.kind) {
    case 'together':
      return yield* performTogether(command.commands, {
        storeMs: time.storeMs,
        perform: (one) => onEntity(one, time),
      })
    case 'create':
    case 'update':
    case 'delete':
    case 'purge': {
      const pair = yield* ask('readClock')
      const work = new Work(messageTime(pair, time.storeMs, time.caller))
      const answer = yield* onCatalog(work, command)
      return yield* finished(work, pair, answer)
    }
    default:
      return yield* onEntity(command, time)
  }
}

function* onCatalog(
  work: Work,
  command: CommandOf<'create' | 'update' | 'delete' | 'purge'>,
): Procedure<AnyAnswer> {
  switch (command.kind) {
    case 'create':
      return yield* createEntities(work, command)
    case 'update':
      return yield* updateEntity(work, command)
    case 'delete':
      return yield* deleteEntity(work, command)
    case 'purge':
      return { kind: 'purged', more: yield* ask('purge', MAX_PURGED_ROWS) }
    default:
      return assertNever(command)
  }
}

/** Rows of deleted entities that one transaction removes. */
const MAX_PURGED_ROWS = 500

function* onEntity(
  command: EntityCommand,
  { storeMs, caller }: { readonly storeMs: number; readonly caller: CallerTime },
): Procedure<CommandResult & { readonly time: MessageTime }> {
  const hold = HOLDING.has(command.kind)
  const place = yield* ask('readPlace', command.entity, { hold })
  const pair = place?.clock ?? (yield* ask('readClock'))
  const work = new Work(messageTime(pair, storeMs, caller))
  if (place === undefined) return yield* finished(work, pair, refused('gone'))
  if (hold) work.keep(place)
  const answer = yield* answerOf(work, place, command)
  if (!command.touch) return yield* finished(work, pair, answer)
  return yield* finished(work, pair, answer, place)
}

function* answerOf(work: Work, place: EntityPlace, command: EntityCommand): Procedure<AnyAnswer> {
  switch (command.kind) {
    case 'send':
      return yield* sendMessages(work, place, command)
    case 'receive':
      return yield* receive(work, place, command)
    case 'receiveDeferred':
      return yield* receiveDeferred(work, place, command)
    case 'discard':
      return yield* discard(work, place, command)
    case 'settle':
      return yield* settleMessages(work, place, command)
    case 'renew':
      return yield* renewMessages(work, place, command)
    case 'peek':
      return yield* peekMessages(work, place, command)
    case 'count':
      return yield* countMessages(work, place)
    case 'cancel':
      return yield* cancelScheduled(work, place, command)
    case 'applyDue':
      return (yield* applyDue(work, place, command.listening)) === 'again'
        ? { kind: 'again' }
        : { kind: 'applied' }
    case 'touch':
      return { kind: 'touched' }
    case 'reserve':
      return reserveNumbers(work, place, command)
    case 'readDue':
      return yield* readDue(work, place, command)
    case 'activate':
      return yield* activate(work, place, command)
    case 'readForwardable':
      return yield* readForwardable(work, place, command)
    case 'forward':
      return yield* forward(work, place, command)
    case 'redrive':
      return yield* redrive(work, place, command)
    default:
      return yield* answerOfSession(work, place, command)
  }
}

type SessionCommand = CommandOf<
  | 'acceptSession'
  | 'renewSession'
  | 'releaseSession'
  | 'readSessionState'
  | 'setSessionState'
  | 'listSessions'
>

function* answerOfSession(
  work: Work,
  place: EntityPlace,
  command: SessionCommand,
): Procedure<AnyAnswer> {
  switch (command.kind) {
    case 'acceptSession':
      return yield* acceptSession(work, place, command)
    case 'renewSession':
      return yield* renewSession(work, place, command)
    case 'releaseSession':
      return yield* releaseSession(work, place, command)
    case 'readSessionState':
      return yield* readSessionState(work, place, command)
    case 'setSessionState':
      return yield* setSessionState(work, place, command)
    case 'listSessions':
      return yield* listSessions(work, place, command)
    default:
      return assertNever(command)
  }
}

/** `active`: the entity in which the command was an activity, successful or not (TMP-10). */
function* finished(
  work: Work,
  pair: ClockPair,
  answer: AnyAnswer,
  active?: EntityPlace,
): Procedure<CommandResult & { readonly time: MessageTime }> {
  const { time } = work
  yield* work.finish()
  if (active !== undefined) yield* stampActivity(work, active)
  for (const [entity, lockMs] of work.stamped) yield* ask('touch', entity, lockMs)
  if (
    Math.abs(time.storeMs - pair.storeMs) > CLOCK_STORED_EVERY_MS ||
    time.lockMs - pair.lockMs > CLOCK_STORED_EVERY_MS
  ) {
    yield* ask('storeClock', time)
  }
  return { answer, touched: work.touched, time }
}

/**
 * An operation on a subscription is one on its topic, too (TMP-06), and one on a dead-letter queue is one on its owner.
 */
function* stampActivity(work: Work, { record }: EntityPlace): Procedure<void> {
  const { lockMs } = work.time
  if (record.parent !== undefined) {
    if (record.kind === 'deadLetter') {
      const owner = yield* ask('readPlace', record.parent, { hold: false })
      const topic = owner?.record.parent
      if (topic !== undefined) work.stamps(topic, lockMs)
    }
    work.stamps(record.parent, lockMs)
  }
  if (record.kind !== 'deadLetter') work.stamps(record.number, lockMs)
}

function refused(reason: RefusalReason): Refusal {
  return { kind: 'refused', reason }
}
