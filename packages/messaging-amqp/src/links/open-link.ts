import { notOffered } from '../errors/not-offered.ts'
import { isCoordinator } from '../rhea/rhea-hooks.ts'
import type { RheaReceiver, RheaSender } from '../rhea/rhea-internals.ts'
import { managementNode, parseAddress, type LinkAddress } from './address.ts'
import { AnswerLink } from './answer-link.ts'
import { openClaimsLink } from './claims-link.ts'
import { NODE_RIGHTS, type ClientLink, type LinkHost } from './client-link.ts'
import { findEntity } from './find-entity.ts'
import { assertManages, openManagementLink } from './management-link.ts'
import { CoordinatorLink } from './coordinator-link.ts'
import { openReceiving } from './open-receiving.ts'
import { SendingLink } from './sending-link.ts'

const TRANSFER_DESTINATION = 'com.microsoft:transfer-destination-address'

/** Opens a link on which the client sends. Rejects with what the client is told. */
export async function openReceiverOf(receiver: RheaReceiver, host: LinkHost): Promise<ClientLink> {
  if (isCoordinator(receiver)) return new CoordinatorLink(receiver, host)
  const { node, path } = addressOf(receiver.target?.address)
  if (node === 'claims') return openClaimsLink(receiver, host)
  if (node === 'management') return openManagementLink(receiver, host, path)
  return SendingLink.open(receiver, host, destinationOf(receiver) ?? path)
}

/** The link may name an entity that messages go through, such as the one that a transaction began with. They go there directly. */
function destinationOf({ properties }: RheaReceiver): string | undefined {
  const address = properties?.[TRANSFER_DESTINATION]
  return address === undefined || address === null ? undefined : addressOf(address).path
}

/** Opens a link on which the client receives; `signal`: it has left. Rejects with what the client is told. */
export async function openSenderOf(
  sender: RheaSender,
  host: LinkHost,
  signal: AbortSignal,
): Promise<ClientLink> {
  const { node, path } = addressOf(sender.source?.address)
  if (node === 'claims') return new AnswerLink(sender, { path, rights: [] })
  if (node === 'entity') return openReceiving(sender, { host, path, signal })
  assertManages(host, path)
  const { path: entity } = await findEntity(host.front, path)
  return new AnswerLink(sender, { path: managementNode(entity), rights: NODE_RIGHTS })
}

function addressOf(address: unknown): LinkAddress {
  return parseAddress(address) ?? notOffered('links without the address of an entity')
}
