//go:build !linux

package gather

import (
	"context"

	"github.com/shirou/gopsutil/v4/host"
)

func hostInfo(ctx context.Context) (*host.InfoStat, error) { return host.InfoWithContext(ctx) }
