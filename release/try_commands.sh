#!/usr/bin/env bash
# Try every command of an installed symsets on small data: release/try_commands.sh path/to/symsets
set -euo pipefail
symsets=$(realpath "$1")
python=$(dirname "$symsets")/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

try() {
  echo "symsets $*"
  "$symsets" "$@" > output.txt 2>&1 || { cat output.txt; exit 1; }
}

"$python" - <<'END'
from PIL import Image
from skimage.data import astronaut, cat, coffee

for name, picture in (("astronaut", astronaut()), ("cat", cat()), ("coffee", coffee())):
    image = Image.fromarray(picture).resize((160, 160))
    for k in range(3):
        path = __import__("pathlib").Path("photos", name, f"{k}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        image.crop((k, k, 128 + k, 128 + k)).save(path)
END
cat > layer.py <<'END'
import torch
from symsets import DSS

def make():
    return DSS(torch.nn.Linear(3, 8)), torch.randn(2, 5, 3)
END
try --version
try group "S5 x C4" --figure scheme.png
try train --example digits --epochs 1 --out runs/digits
try predict runs/digits runs/digits-sets/test --out answers.csv
try best photos --out best.csv
try merge photos/cat -o merged.png --compare sheet.png
try check layer.py:make --symmetry permute:axis=1
try data
try pack photos photos.npz
try run signals --preset smoke --out runs/signals
try report runs/signals
try run colors --preset smoke --data photos.npz --out runs/colors
try evaluate runs/colors --data embedded --sets 2
ls scheme.png answers.csv best.csv merged.png sheet.png runs/signals/report.html > /dev/null
echo "all commands work"
