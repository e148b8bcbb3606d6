"""The yardstick of text_rows.lua: text_rows.py FIGURE FILE ROWS prints seconds without Python's start-up."""
import csv, json, sys, time

figure, path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])


def rows():
    return ([i, "name " + str(i), i / 7, i % 2 == 0] for i in range(1, n + 1))


def records():
    return ({"id": i, "name": "name " + str(i), "share": i / 7, "even": i % 2 == 0} for i in range(1, n + 1))


def save_csv():
    with open(path, "w", newline="") as out:
        csv.writer(out).writerows(rows())


def save_jsonl():
    with open(path, "w") as out:
        for record in records():
            out.write(json.dumps(record) + "\n")


def load_csv():
    total = 0.0
    with open(path, newline="") as text:
        for row in csv.reader(text):
            total += float(row[0]) + float(row[2])
    return total


def load_jsonl():
    total = 0.0
    with open(path) as text:
        for line in text:
            record = json.loads(line)
            total += record["id"] + record["share"]
    return total


def numbers():
    with open(path) as text:
        return sum(map(float, text))


def fields():
    total = 0.0
    with open(path) as text:
        for line in text:
            row = [float(field) for field in line.split(",")]
            total += row[0] + row[2]
    return total


began = time.perf_counter()
result = globals()[figure]()
print(time.perf_counter() - began, result)
