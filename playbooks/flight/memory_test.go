package flight

import (
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemory(t *testing.T) {
	const meminfo = "MemTotal: 4000 kB\nMemAvailable:    2048 kB\n"
	for _, test := range []struct {
		name    string
		files   map[string]string
		goLimit int64
		want    int64
	}{
		{"nobody says", nil, math.MaxInt64, 0},
		{"GOMEMLIMIT", map[string]string{"/proc/meminfo": meminfo}, 12345, 12345},
		{"the system", map[string]string{"/proc/meminfo": meminfo}, math.MaxInt64, 1 << 20},
		{"a container", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "1000\n"}, math.MaxInt64, 500},
		{"a container without a limit", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n"}, math.MaxInt64, 1 << 20},
		{"cgroup v1", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n"}, math.MaxInt64, 1000},
		{"a group above", map[string]string{
			"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/user.slice/me.scope\n",
			"/sys/fs/cgroup/user.slice/me.scope/memory.max": "max\n", "/sys/fs/cgroup/user.slice/memory.max": "600\n",
		}, math.MaxInt64, 300},
		{"nonsense", map[string]string{"/proc/meminfo": "MemAvailable:\nMemAvailable: x kB\n", "/proc/self/cgroup": "0::\n", "/sys/fs/cgroup/memory.max": ""}, math.MaxInt64, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(path string) ([]byte, error) {
				if text, ok := test.files[path]; ok {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			}
			require.Equal(t, test.want, memory(read, test.goLimit))
		})
	}
}

// TestCollectLate looks at the percentage of this process.
func TestCollectLate(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	CollectLate()
	require.EqualValues(t, firstPercent, percent())
	runtime.GC()
	require.Eventually(t, func() bool { return percent() == laterPercent }, time.Minute, time.Millisecond)
}
