package credentials

import (
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

func credential() ([]byte, error) {
	key, err := chain.ReadKey(filepath.Join(os.Getenv("CREDENTIALS_DIRECTORY"), "audit.key"))
	return key, err
}
