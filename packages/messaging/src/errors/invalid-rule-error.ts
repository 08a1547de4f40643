import { CodedError } from '@tidemark/contracts'

/**
 * A SQL filter or action cannot be parsed, or a rule is above a limit. The message names the place in the text. The rule was
 * not created.
 *
 * @remedy Correct the expression.
 */
export class InvalidRuleError extends CodedError {
  override readonly name = 'InvalidRuleError'
  readonly code = 'ERR_INVALID_RULE'
  readonly retryable = false
}
