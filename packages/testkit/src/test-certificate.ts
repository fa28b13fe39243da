/** Self-signed certificate for localhost and 127.0.0.1, valid for 100 years. Its key is public; for tests only. */
export const testCertificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUP1GB9wU3JxZwh+a7IuXaAKVyYq0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAyMzkzMVoYDzIxMjYxMDI4
MDIzOTMxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARg6XmvaF/6zV3VqQyG2dbcJrrX+ko+leinkawS/7M/ipa6qYQjvhHk
/1K/5NqlauqRlEabYeo5U2cNHs11UdVyo28wbTAdBgNVHQ4EFgQUhoLcmqmvPIy8
eDYEow30oxqNt4MwHwYDVR0jBBgwFoAUhoLcmqmvPIy8eDYEow30oxqNt4MwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAPgpOj2uPPKfKI3ZOoY2yRy8plBxV69Iql4Mk5Ve1zWNAiBn
1LIZ2FCXPQR1dyIF2G2fawmpg4+49Y+mMTH+qF7FoA==
-----END CERTIFICATE-----`;

export const testCertificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgN66R0ZXz7BzSI4S7
jBR+ivt1Wl4J/5tSEln1ab/kT6yhRANCAARg6XmvaF/6zV3VqQyG2dbcJrrX+ko+
leinkawS/7M/ipa6qYQjvhHk/1K/5NqlauqRlEabYeo5U2cNHs11UdVy
-----END PRIVATE KEY-----`;
