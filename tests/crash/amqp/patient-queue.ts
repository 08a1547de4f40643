import type { MessageBroker } from '@tidemark/messaging'

/** A call that is retried sends its messages again: here the queue finds them out. */
export const PATIENT = 'patient'

export async function createPatientQueue(broker: MessageBroker): Promise<void> {
  await broker.createQueue(PATIENT, {
    lockDuration: 'PT0.4S',
    requiresDuplicateDetection: true,
    maxDeliveryCount: 1000,
  })
}
