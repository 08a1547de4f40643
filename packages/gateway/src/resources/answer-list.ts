import type { Answer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { listBody } from '../protocol/list-body.ts'
import { METADATA_CHARGE, chargeText } from '../protocol/request-charge.ts'
import type { JsonRecord } from '../protocol/request-values.ts'
import type { GatewayRequest } from '../requests/gateway-request.ts'

/** A list of resources that is small enough to be answered at once: databases, containers, offers. */
export async function answerList(
  _request: GatewayRequest,
  { rid, name, items }: { rid: string; name: string; items: readonly JsonRecord[] },
): Promise<Answer> {
  return {
    status: 200,
    headers: {
      [HEADER.requestCharge]: chargeText(METADATA_CHARGE),
      [HEADER.itemCount]: String(items.length),
    },
    body: listBody(
      { rid, name },
      items.map((item) => JSON.stringify(item)),
    ),
  }
}
