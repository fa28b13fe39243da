/** Untrusted self-signed certificate for localhost, valid for 100 years. Its key is public and only for drills. */
export const untrustedCertificate = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUdEoYLWfIr8uy3wjWSSyjIcVirwUwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjIzMTczNloYDzIxMjYxMDI5
MjMxNzM2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAS9Ez1ARRdh+lmpauDVYG/HX8JKrp23bKlX3C9W9lesq5poyZkgk5+H
yOxLGRWPDnmmXei4+zxO1Bt3mF2bGwbzo28wbTAdBgNVHQ4EFgQU8LRM/bNe84xM
IwJwYmjdnbNNX/0wHwYDVR0jBBgwFoAU8LRM/bNe84xMIwJwYmjdnbNNX/0wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgOaojNgfW3dQdv4/68w4gBUFO+Qwp8zyZcCbXMpmrmzsCIHvM
fLGWcStfewpH+7F8Z0eBfMJ+cDCJvfAwbnp/mu/a
-----END CERTIFICATE-----`;

export const untrustedKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgw3nk1GVzBCYAYMxJ
3wKXU775saJyOmZD1QHgqeeXhSOhRANCAAS9Ez1ARRdh+lmpauDVYG/HX8JKrp23
bKlX3C9W9lesq5poyZkgk5+HyOxLGRWPDnmmXei4+zxO1Bt3mF2bGwbz
-----END PRIVATE KEY-----`;
