package privatekey

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// TestFind has a key in each encoding and wrapping, and demands its public part.
func TestFind(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	openSSH, err := ssh.MarshalPrivateKey(private, "a comment")
	require.NoError(t, err)
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	public := base64.StdEncoding.EncodeToString(signer.PublicKey().Marshal())
	putty := "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: c\nPublic-Lines: 2\n" + public[:40] + "\n" + public[40:] + "\nPrivate-Lines: 1\nAAAA\n"
	forms := map[string][]byte{
		"OpenSSH": pem.EncodeToMemory(openSSH), "locked": pem.EncodeToMemory(locked), "PKCS#8": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), "DER": pkcs8,
		"PuTTY": []byte(putty), "bare OpenSSH": openSSH.Bytes,
	}
	wrappings := map[string]func([]byte) []byte{
		"plain":  func(data []byte) []byte { return data },
		"base64": func(data []byte) []byte { return []byte("key: " + base64.StdEncoding.EncodeToString(data) + "\n") },
		"lines": func(data []byte) []byte {
			text := base64.StdEncoding.EncodeToString(data)
			var b strings.Builder
			b.WriteString("a text\nwithout\nkeys\ndata: |\n")
			for len(text) > 0 {
				n := min(60, len(text))
				b.WriteString("    " + text[:n] + "\r\n")
				text = text[n:]
			}
			return []byte(b.String())
		},
		"URL":   func(data []byte) []byte { return []byte(`{"k":"` + base64.RawURLEncoding.EncodeToString(data) + `"}`) },
		"hex":   func(data []byte) []byte { return []byte(hex.EncodeToString(data)) },
		"gzip":  gzipped,
		"twice": func(data []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(gzipped(gzipped(data)))) },
		"base64 twice": func(data []byte) []byte {
			return []byte(base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(data))))
		},
		"data URI in JSON": func(data []byte) []byte {
			return []byte(`{"k":"data:application/x-pem-file;base64,` + base64.StdEncoding.EncodeToString(data) + `"}`)
		},
		"after a shell archive": func(data []byte) []byte {
			return append([]byte("#!/bin/sh\ntail -n +3 \"$0\" | gunzip; exit\n"), gzipped(data)...)
		},
		"hex in upper case": func(data []byte) []byte { return []byte(strings.ToUpper(hex.EncodeToString(data))) },
		"escaped slashes": func(data []byte) []byte {
			return []byte(`{"k":"` + strings.ReplaceAll(base64.StdEncoding.EncodeToString(data), "/", `\/`) + `"}`)
		},
		"zip after a program": func(data []byte) []byte {
			out := bytes.NewBufferString("#!/usr/bin/env python3\n")
			w := zip.NewWriter(out)
			one, _ := w.Create("key")
			_, _ = one.Write(data)
			_ = w.Close()
			return out.Bytes()
		},
		"zstd": func(data []byte) []byte {
			w, _ := zstd.NewWriter(nil)
			return w.EncodeAll(data, nil)
		},
	}
	for form, data := range forms {
		for wrapping, wrap := range wrappings {
			keys, whole := Find(wrap(data))
			require.NotEmpty(t, keys, "%s, %s", form, wrapping)
			require.True(t, whole, "%s, %s", form, wrapping)
			var ids []string
			for _, key := range keys {
				ids = append(ids, key.IDs...)
			}
			require.Contains(t, ids, ID(signer.PublicKey()), "%s, %s", form, wrapping)
		}
	}
}

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}

// TestNoKey has texts that look like keys, and are not.
func TestNoKey(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	require.NoError(t, err)
	random := make([]byte, 1<<20)
	_, _ = rand.Read(random)
	copy(random[1000:], "\x1f\x8b\x08\x00 looks like the begin of an archive, PK\x05\x06")
	for name, data := range map[string][]byte{
		"public key": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), "DER": public, "random": random, "base64": []byte(base64.StdEncoding.EncodeToString(random)),
		"prose": []byte(strings.Repeat("The private key of the host lies in /etc/ssh and is not in this file.\n", 1000)), "empty": nil,
		"manifest": []byte("ccm:\n  resources:\n    - file: [/etc/ssl/private/key.pem: {source: key.pem, mode: \"0600\"}]\n"),
		"age":      []byte("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudutrfjsrm8xw2"),
	} {
		keys, whole := Find(data)
		require.Empty(t, keys, name)
		require.True(t, whole, name)
	}
}

// TestBomb holds that a small archive does not take all memory, and counts as not searched.
func TestBomb(t *testing.T) {
	keys, whole := Find(gzipped(gzipped(make([]byte, 200<<20))))
	require.Empty(t, keys)
	require.False(t, whole)
}

func FuzzFind(f *testing.F) {
	f.Add([]byte("-----BEGIN OPENSSH PRIVATE KEY-----\n"))
	f.Add([]byte("PK\x03\x04"))
	f.Add(gzipped([]byte("x")))
	f.Fuzz(func(_ *testing.T, data []byte) { Find(data) })
}
