/** A certificate of "localhost" that it signed itself, valid for a hundred years, and its key. Known to everybody: for tests. */
export const LOCALHOST_TLS: { readonly cert: string; readonly key: string } = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBfTCCASWgAwIBAgIUDxajQC/bgwFNtX+E5Axt5zXB2FYwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIwNTgyMFoYDzIxMjYxMDI4
MjA1ODIwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQ1BnsIYU237Eu4Sd2Qho5h8ws9F/nTAiXGQL+JDIbeGLvZT5Zom9Em
v6yGDdieTgoqKBjKGfMRPWMjwxRB1SZ1o1MwUTAdBgNVHQ4EFgQUbay0i1VtYmEc
BojoBiwI62B11zcwHwYDVR0jBBgwFoAUbay0i1VtYmEcBojoBiwI62B11zcwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNGADBDAh9/xg3j+ya/t03QmAWe0pjU
MYVRfd2jKrc8ghidRfK8AiAx1j/w9wxbivkqeLnuNfbJ0PuuYLKteoMc/ferAXU2
Rg==
-----END CERTIFICATE-----\n`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPH+5lKuuT8AKVA4f
WlGGv+75HO/vnWYqJoaI0x/Wo8qhRANCAAQ1BnsIYU237Eu4Sd2Qho5h8ws9F/nT
AiXGQL+JDIbeGLvZT5Zom9Emv6yGDdieTgoqKBjKGfMRPWMjwxRB1SZ1
-----END PRIVATE KEY-----\n`,
}
