package natsdata

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is one of a server of its own, and what fills it.
func store(t *testing.T) (*Store, jetstream.JetStream) {
	t.Helper()
	link := natsconn.New(natsconn.Config{Servers: natstest.Start(t)})
	t.Cleanup(link.Close)
	js, err := link.JetStream(t.Context())
	require.NoError(t, err)
	return &Store{Link: link}, js
}

func TestValue(t *testing.T) {
	s, js := store(t)
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "CFG"})
	require.NoError(t, err)
	_, err = kv.PutString(t.Context(), "web/port", "{{ 80 }}")
	require.NoError(t, err)
	_, err = kv.PutString(t.Context(), "gone", "x")
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), "gone"))

	value, err := s.Value(t.Context(), "CFG", "web/port")
	require.NoError(t, err)
	require.Equal(t, "{{ 80 }}", string(value))
	for _, c := range []struct{ name, bucket, key, err string }{
		{"no key", "CFG", "none", `the bucket "CFG" of NATS has no key "none"`},
		{"a key that was deleted", "CFG", "gone", `the bucket "CFG" of NATS has no key "gone"`},
		{"no name of a key", "CFG", "a b", `"a b" is not a key of NATS: write letters, digits and -/_=. in it`},
		{"no bucket", "NONE", "a", `unknown bucket "NONE" in NATS`},
		{"no name of a bucket", "a.b", "a", `"a.b" is not a bucket of NATS: write letters, digits, - and _`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Value(t.Context(), c.bucket, c.key)
			require.EqualError(t, err, c.err)
		})
	}

	// All hosts of a run get the same value.
	_, err = kv.PutString(t.Context(), "web/port", "81")
	require.NoError(t, err)
	_, err = kv.PutString(t.Context(), "none", "x")
	require.NoError(t, err)
	var hosts sync.WaitGroup
	for range 20 {
		hosts.Go(func() {
			value, err := s.Value(t.Context(), "CFG", "web/port")
			if err != nil || string(value) != "{{ 80 }}" {
				t.Errorf("another value: %s %v", value, err)
			}
			if _, err := s.Value(t.Context(), "CFG", "none"); err == nil {
				t.Error("another answer")
			}
		})
	}
	hosts.Wait()
}

// TestValueOfOneWhoDoesNotWait repeats a request that only the end of a context prevented.
func TestValueOfOneWhoDoesNotWait(t *testing.T) {
	s, js := store(t)
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "CFG"})
	require.NoError(t, err)
	_, err = kv.PutString(t.Context(), "a", "1")
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.Value(ended, "CFG", "a")
	require.ErrorIs(t, err, context.Canceled)
	value, err := s.Value(t.Context(), "CFG", "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(value))
}

func TestObject(t *testing.T) {
	s, js := store(t)
	objects, err := js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "SITES"})
	require.NoError(t, err)
	big := strings.Repeat("0123456789abcdef", 1<<16)
	_, err = objects.PutString(t.Context(), "web.tgz", big)
	require.NoError(t, err)
	for _, c := range []struct {
		name, bucket, object string
		most                 int64
		err                  string
	}{
		{"whole", "SITES", "web.tgz", 1 << 20, ""},
		{"too large", "SITES", "web.tgz", 1<<20 - 1, "it has more than 0 MiB"},
		{"no object", "SITES", "none", 1 << 20, `the bucket "SITES" of NATS has no object "none"`},
		{"no bucket", "NONE", "a", 1 << 20, `unknown bucket "NONE" in NATS`},
		{"no name of a bucket", "a.b", "a", 1 << 20, `"a.b" is not a bucket of NATS: write letters, digits, - and _`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			err := s.Object(t.Context(), c.bucket, c.object, c.most, &got)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, big, got.String())
		})
	}
}
