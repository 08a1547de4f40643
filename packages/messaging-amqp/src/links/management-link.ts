import rhea from 'rhea'
import type { RheaReceiver } from '../rhea/rhea-internals.ts'
import type { ManagementContext } from '../management/management-call.ts'
import { performOperation } from '../management/perform-operation.ts'
import { managementNode } from './address.ts'
import { ENVELOPE_BYTES, NODE_RIGHTS, type LinkHost } from './client-link.ts'
import { findEntity } from './find-entity.ts'
import { RequestLink } from './request-link.ts'

/** Whether the entity exists is told to those only who may use it. @throws ERR_UNAUTHORIZED_ACCESS */
export function assertManages({ claims }: LinkHost, path: string): void {
  const node = managementNode(path)
  if (!NODE_RIGHTS.some((right) => claims.permits(right, node))) claims.assert('Listen', node)
}

/** The node `$management` of an entity. */
export async function openManagementLink(
  receiver: RheaReceiver,
  host: LinkHost,
  given: string,
): Promise<RequestLink> {
  assertManages(host, given)
  const { path, record, isTransfer } = await findEntity(host.front, given)
  const node = managementNode(path)
  const context: ManagementContext = {
    broker: host.broker,
    front: host.front,
    path,
    isEmpty: isTransfer,
    assertRight: (right) => host.claims.assert(right, node),
    heldSession: (sessionId, linkName) => host.links.heldSession(path, sessionId, linkName),
    reportFailure: (error) => host.report(`an operation on '${path}'`, error),
  }
  return new RequestLink({
    receiver,
    host,
    path: node,
    rights: NODE_RIGHTS,
    maxTransferBytes: record.settings.maxMessageBytes + ENVELOPE_BYTES,
    answer: async ({ properties, body, transaction }) => {
      const answer = await performOperation(
        {
          operation: textOf(properties['operation']) ?? '',
          linkName: textOf(properties['associated-link-name']),
          body,
          transaction: transaction && (() => host.transactions.find(transaction)),
        },
        context,
      )
      const { statusCode, statusDescription, errorCondition } = answer
      return {
        properties: {
          statusCode: rhea.types.wrap_int(statusCode),
          statusDescription,
          ...(errorCondition === undefined
            ? {}
            : { errorCondition: rhea.types.wrap_symbol(errorCondition) }),
        },
        body: answer.body,
      }
    },
  })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
