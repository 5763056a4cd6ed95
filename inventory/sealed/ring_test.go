package sealed_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/sealed/vault"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func ring(opened func(string)) *sealed.Ring {
	return &sealed.Ring{Opened: opened, Schemes: []sealed.Scheme{&vault.Scheme{Passwords: []vault.Password{{Label: "default", Text: []byte("sesame")}, {Label: "dev", Text: []byte("open")}}}}}
}

func parse(t testing.TB, text string, r *sealed.Ring) *yamlpos.Node {
	t.Helper()
	documents, err := yamlpos.Parse("f.yaml", []byte(text), yamlpos.Secrets(), yamlpos.KeepSealed(r.Opener()))
	require.NoError(t, err)
	return documents[0]
}

func TestValueIsOpenedOnce(t *testing.T) {
	data, err := os.ReadFile("vault/testdata/vectors.yaml")
	require.NoError(t, err)
	var opened []string
	n := parse(t, string(data), ring(func(text string) { opened = append(opened, text) })).Items[0].Get("value")
	require.True(t, n.Secret)
	require.Equal(t, "[0].value", n.Sealed.Path.String())
	require.Contains(t, string(n.Sealed.Source), "a password")
	require.Empty(t, opened, "a value that nobody has asked for")
	var hosts sync.WaitGroup
	for range 50 {
		hosts.Go(func() {
			text, err := n.Open()
			if err != nil || text != "hunter5-hunter5" {
				t.Error(text, err)
			}
		})
	}
	hosts.Wait()
	require.Equal(t, []string{"hunter5-hunter5"}, opened)
}

func TestWholeFileIsSecret(t *testing.T) {
	data, err := os.ReadFile("vault/testdata/whole.yaml")
	require.NoError(t, err)
	n := parse(t, string(data), ring(nil))
	require.Equal(t, map[string]any{"password": "hunter7-hunter7", "port": int64(8080)}, n.Any())
	require.True(t, n.Get("password").Secret)
	require.True(t, n.Get("port").Secret)
	_, err = yamlpos.Parse("f.yaml", data, yamlpos.KeepSealed(nil))
	require.ErrorContains(t, err, "f.yaml:1:1: the file is encrypted by ansible-vault\n")
	_, err = yamlpos.Parse("f.yaml", data, yamlpos.KeepSealedValues(ring(nil)))
	require.ErrorContains(t, err, "f.yaml:1:1: the file is encrypted by ansible-vault\n")
}

// encrypted returns a value in the format of ansible-vault.
func encrypted(password, salt, text string) string {
	derived, _ := pbkdf2.Key(sha256.New, password, []byte(salt), 10_000, 80)
	padding := aes.BlockSize - len(text)%aes.BlockSize
	padded := []byte(text + strings.Repeat(string(rune(padding)), padding))
	block, _ := aes.NewCipher(derived[:32])
	cipher.NewCTR(block, derived[64:]).XORKeyStream(padded, padded)
	mac := hmac.New(sha256.New, derived[32:64])
	mac.Write(padded)
	inner := hex.EncodeToString([]byte(salt)) + "\n" + hex.EncodeToString(mac.Sum(nil)) + "\n" + hex.EncodeToString(padded)
	return "$ANSIBLE_VAULT;1.1;AES256\n" + hex.EncodeToString([]byte(inner))
}

// BenchmarkOpenAll opens 1,000 values with a salt of their own each. It is to take hardly more
// than the derivations that it cannot do without, times their time, over the processors:
// BenchmarkDerivation has that.
func BenchmarkOpenAll(b *testing.B) {
	const values = 1000
	var text strings.Builder
	for i := range values {
		fmt.Fprintf(&text, "v%d: !vault |\n  %s\n", i, strings.ReplaceAll(encrypted("sesame", fmt.Sprintf("%032d", i), "hunter2"), "\n", "\n  "))
	}
	for b.Loop() {
		root := parse(b, text.String(), ring(nil)) // nodes remember their opened values
		nodes := make([]*yamlpos.Node, 0, values)
		for _, p := range root.Pairs {
			nodes = append(nodes, p.Value)
		}
		yamlpos.OpenAll(nodes)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/values, "µs/value")
}

// BenchmarkDerivation is 1,000 derivations, on all processors.
func BenchmarkDerivation(b *testing.B) {
	const values = 1000
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = pbkdf2.Key(sha256.New, "sesame", []byte("0123456789abcdef0123456789abcdef"), 10_000, 80)
		}
	})
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)*values, "ms/1000")
}
