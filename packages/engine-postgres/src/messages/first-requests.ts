import { parseLockToken, type MessageCommand } from '@tidemark/store/messages'
import type { SqlRow } from '../connection/sql.ts'
import type { DueStart } from './entity-hints.ts'

export interface FirstPlace {
  readonly entity: number
  readonly hold: boolean
}

/** What a procedure will ask for first, so that it can go with BEGIN. */
export interface FirstRequests {
  readonly place?: FirstPlace | undefined
  /** Ids of messages, ascending. */
  readonly rows?: readonly number[] | undefined
}

/** The answers, for the requests that are the same. */
export interface FirstAnswers extends FirstRequests {
  readonly due: DueStart
  readonly placeRow: SqlRow | undefined
  readonly messageRows: readonly SqlRow[]
}

/** `mayLock`: whether rows of this entity are locked without their session first. */
export function firstRequests(
  command: MessageCommand,
  mayLock: (entity: number) => boolean,
): FirstRequests {
  switch (command.kind) {
    case 'create':
    case 'update':
    case 'delete':
    case 'purge':
    case 'together':
      return {}
    case 'send':
    case 'activate':
    case 'reserve':
      return { place: { entity: command.entity, hold: true } }
    case 'settle':
    case 'renew': {
      const { entity } = command
      const tokens =
        command.kind === 'renew' ? command.tokens : command.dispositions.map(({ token }) => token)
      const ids = tokens.flatMap((token) => parseLockToken(token)?.id ?? [])
      const rows = mayLock(entity) ? [...new Set(ids)].sort((a, b) => a - b) : undefined
      return { place: { entity, hold: false }, rows }
    }
    default:
      return { place: { entity: command.entity, hold: false } }
  }
}

/** From the rows of the opening. */
export function firstAnswers(
  first: FirstRequests & { readonly due: DueStart },
  opened: readonly (readonly SqlRow[])[],
): FirstAnswers {
  const [, place = [], messageRows = []] = opened
  return { ...first, placeRow: place[0], messageRows }
}
