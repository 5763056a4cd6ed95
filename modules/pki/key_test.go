package pki_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/pki"
)

// FuzzParseKey holds that a key that is read can be written in its format, and is read as the same key then.
func FuzzParseKey(f *testing.F) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	curved, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), 1))
	require.NoError(f, err)
	for _, format := range []string{pki.PKCS8, pki.Traditional} {
		text, err := pki.Encode(private, format)
		require.NoError(f, err)
		f.Add(text)
		text, err = pki.Encode(curved, format)
		require.NoError(f, err)
		f.Add(append([]byte("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"), text...))
	}
	f.Add([]byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES\n\nAA==\n-----END RSA PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		signer, key, err := pki.ParseKey(text)
		if err != nil {
			require.Nil(t, signer)
			require.Contains(t, []error{pki.ErrNoKey, pki.ErrEncrypted}, err)
			return
		}
		written, err := pki.Encode(signer, key.Format)
		require.NoError(t, err)
		again, sameKey, err := pki.ParseKey(written)
		require.NoError(t, err)
		require.Equal(t, key, sameKey)
		require.Equal(t, signer.Public(), again.Public())
	})
}
