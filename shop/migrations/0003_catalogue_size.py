from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("shop", "0002_order_country_choices"),
    ]

    operations = [
        migrations.AddField(
            model_name="seedstate",
            name="books",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name="book",
            index=models.Index(fields=["author", "sales_rank"], name="book_author_rank"),
        ),
    ]
