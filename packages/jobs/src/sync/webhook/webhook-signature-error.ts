import { CodedError } from '@tidemark/contracts'

/**
 * A request to a webhook was not signed with the secret, was changed on its way, or is too old: it may be a replay.
 *
 * @remedy Answer 401 and do nothing else. If it comes from your own sink: compare the secrets and the clocks, and give `verifyWebhook` the body as it came, before it is parsed.
 */
export class WebhookSignatureError extends CodedError {
  override readonly name = 'WebhookSignatureError'
  readonly code = 'ERR_WEBHOOK_SIGNATURE'
  readonly retryable = false
}
